// SPDX-License-Identifier: Apache-2.0
// NVML's calls about how busy a card is, in all and by process.
#include <algorithm>
#include <optional>
#include <vector>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Gpu;
using nvs::nvml::Moment;
using nvs::nvml::ProcessShare;
using nvs::nvml::with_gpu;

namespace {

// The card's own buffer of samples: callers must bring room for so many, whatever they will find.
constexpr unsigned kSamplesMax = 72;

// Memory is being read or written as long as a kernel runs, so that is its utilisation. Copies are
// left out: the machine keeps no history of them.
nvmlUtilization_t measure_utilisation(const Gpu& gpu) {
  const unsigned percent = gpu.machine.utilisation(gpu.index, nvs::sim::now_ns());
  return {.gpu = percent, .memory = percent};
}

void fill(nvmlProcessUtilizationSample_t& sample, const ProcessShare& share, const Moment& moment) {
  sample = {.pid = share.pid,
            .timeStamp = moment.wall_us,
            .smUtil = share.percent,
            .memUtil = share.percent,
            .encUtil = 0,
            .decUtil = 0};
}

void fill(nvmlProcessUtilizationInfo_v1_t& sample, const ProcessShare& share,
          const Moment& moment) {
  sample = {.timeStamp = moment.wall_us,
            .pid = share.pid,
            .smUtil = share.percent,
            .memUtil = share.percent,
            .encUtil = 0,
            .decUtil = 0,
            .jpgUtil = 0,
            .ofaUtil = 0};
}

template <class Sample>
nvmlReturn_t sample_processes(const Gpu& gpu, std::uint64_t since_us, unsigned* count,
                              Sample* samples) {
  const auto processes = nvs::nvml::processes_on(gpu.machine, gpu.index);
  const unsigned room = std::max(kSamplesMax, static_cast<unsigned>(processes.size()));
  if (samples == nullptr || *count < room) {
    *count = room;
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  const Moment moment = nvs::nvml::now();
  const auto shares = gpu.library.history(gpu.index).shares(moment, since_us, processes);
  if (!shares || shares->empty()) return NVML_ERROR_NOT_FOUND;
  for (const ProcessShare& share : *shares) fill(*samples++, share, moment);
  *count = static_cast<unsigned>(shares->size());
  return NVML_SUCCESS;
}

nvmlReturn_t tell_unused_engine(nvmlDevice_t device, unsigned* utilisation, unsigned* period_us) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        *utilisation = 0;
        *period_us = 100000;
        return NVML_SUCCESS;
      },
      utilisation, period_us);
}

// The machine's own samples, oldest first, as shares of the time between two of them.
std::vector<nvmlSample_t> gpu_samples(const Gpu& gpu, std::uint64_t since_us) {
  struct Total {
    nvs::sim::Nanos at;
    std::uint64_t busy_ns;
  };
  std::vector<Total> totals;
  const Moment moment = nvs::nvml::now();
  gpu.machine.sample_utilisation(gpu.index, moment.at);
  for (const auto& sample : gpu.machine.gpu(gpu.index).samples) {
    if (sample.at.load() != 0) totals.push_back({sample.at.load(), sample.busy_ns.load()});
  }
  std::sort(totals.begin(), totals.end(), [](auto& a, auto& b) { return a.at < b.at; });

  std::vector<nvmlSample_t> samples;
  for (std::size_t i = 1; i < totals.size(); ++i) {
    const auto age_us =
        static_cast<std::uint64_t>(std::max<nvs::sim::Nanos>(moment.at - totals[i].at, 0)) / 1000;
    const std::uint64_t wall_us = moment.wall_us - age_us;
    if (wall_us <= since_us) continue;
    const auto busy = static_cast<double>(totals[i].busy_ns - totals[i - 1].busy_ns);
    const double share = busy / static_cast<double>(totals[i].at - totals[i - 1].at);
    nvmlSample_t sample{};
    sample.timeStamp = wall_us;
    sample.sampleValue.uiVal = static_cast<unsigned>(std::clamp(share, 0.0, 1.0) * 100 + 0.5);
    samples.push_back(sample);
  }
  return samples;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return nvs::nvml::tell(device, utilization, measure_utilisation);
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int* utilization,
                                             unsigned int* samplingPeriodUs) {
  return tell_unused_engine(device, utilization, samplingPeriodUs);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int* utilization,
                                             unsigned int* samplingPeriodUs) {
  return tell_unused_engine(device, utilization, samplingPeriodUs);
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t* utilization,
                                             unsigned int* processSamplesCount,
                                             unsigned long long lastSeenTimeStamp) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        return sample_processes(gpu, lastSeenTimeStamp, processSamplesCount, utilization);
      },
      processSamplesCount);
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* procesesUtilInfo) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        nvmlProcessesUtilizationInfo_t& info = *procesesUtilInfo;
        if (info.version != nvmlProcessesUtilizationInfo_v1) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        return sample_processes(gpu, info.lastSeenTimeStamp, &info.processSamplesCount,
                                info.procUtilArray);
      },
      procesesUtilInfo);
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                  unsigned long long lastSeenTimeStamp,
                                  nvmlValueType_t* sampleValType, unsigned int* sampleCount,
                                  nvmlSample_t* samples) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (type >= NVML_SAMPLINGTYPE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
        if (type != NVML_GPU_UTILIZATION_SAMPLES && type != NVML_MEMORY_UTILIZATION_SAMPLES) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *sampleValType = NVML_VALUE_TYPE_UNSIGNED_INT;
        if (samples == nullptr) {
          *sampleCount = nvs::sim::kUtilisationSamples;
          return NVML_SUCCESS;
        }
        const auto found = gpu_samples(gpu, lastSeenTimeStamp);
        if (found.empty()) return NVML_ERROR_NOT_FOUND;
        *sampleCount = std::min(*sampleCount, static_cast<unsigned>(found.size()));
        std::copy_n(found.begin(), *sampleCount, samples);
        return NVML_SUCCESS;
      },
      sampleValType, sampleCount);
}
