{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* The flags of our programs, and paths that programs and hosts agree on: named here alone. */}}

{{- define "nvshare.runFolder" -}}/var/run/nvshare{{- end }}
{{- define "nvshare.hostFolder" -}}/var/lib/nvshare{{- end }}
{{- define "nvshare.cdiFolder" -}}/var/run/cdi{{- end }}
{{- define "nvshare.configFolder" -}}/etc/nvshare/device-plugin{{- end }}
{{- define "nvshare.featuresFolder" -}}/etc/kubernetes/node-feature-discovery/features.d{{- end }}
{{- define "nvshare.devicePluginsFolder" -}}/var/lib/kubelet/device-plugins{{- end }}
{{- define "nvshare.podResourcesFolder" -}}/var/lib/kubelet/pod-resources{{- end }}

{{/* One line for each flag that has a value. */}}
{{- define "nvshare.flags" -}}
{{- range $flag, $value := . }}
{{- if not (kindIs "invalid" $value) }}
- {{ printf "--%s=%s" $flag (toString $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "nvshare.scheduler.args" -}}
{{- $scheduler := .Values.scheduler -}}
{{- include "nvshare.flags" (dict
  "folder" (include "nvshare.runFolder" .)
  "host-memory" $scheduler.hostMemory
  "window" $scheduler.window
  "turn" $scheduler.turn
  "mode" $scheduler.mode
  "memory-limit" $scheduler.memoryLimit
  "core-limit" $scheduler.coreLimit
  "gpu-memory" $scheduler.gpuMemory
  "pod-priority" $scheduler.podPriority
  "log-level" $scheduler.logLevel) }}
{{- if not $scheduler.watchPods }}
- "--kube=off"
{{- end }}
{{- if .Values.metrics.enabled }}
- {{ printf "--metrics=:%s" (toString .Values.metrics.port) | quote }}
{{- end }}
{{- range $scheduler.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Of one config: root, and the name of the config, which is empty if there is none. */}}
{{- define "nvshare.devicePlugin.args" -}}
{{- $plugin := .root.Values.devicePlugin -}}
{{- include "nvshare.flags" (dict
  "injection" $plugin.injection
  "replicas" $plugin.replicas
  "resource" $plugin.resource
  "device-list-strategy" $plugin.deviceListStrategy
  "allocation-policy" $plugin.allocationPolicy
  "memory-ratio" $plugin.memoryRatio
  "memory-unit" $plugin.memoryUnit
  "probes" (printf ":%s" (toString $plugin.probePort))
  "log-level" $plugin.logLevel) }}
{{- if $plugin.offerCores }}
- "--cores"
{{- end }}
{{- if $plugin.requireScheduler }}
- "--require-scheduler"
{{- end }}
{{- if .config }}
- {{ printf "--config-file=%s/%s" (include "nvshare.configFolder" .root) .config | quote }}
{{- end }}
{{- if eq (include "nvshare.nodeLabels" .root) "nfd" }}
- {{ printf "--node-labels-file=%s/nvshare" (include "nvshare.featuresFolder" .root) | quote }}
{{- end }}
{{- range $plugin.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Exit code 0: it answers. The admin socket serves its own container. */}}
{{- define "nvshare.scheduler.probe" -}}
exec:
  command: [nvsharectl, "--folder", {{ include "nvshare.runFolder" . }}, status]
{{- end }}

{{/* /healthz: its loop turns. /readyz: everything is registered with the kubelet, and the scheduler answers. */}}
{{- define "nvshare.devicePlugin.probe" -}}
httpGet:
  path: {{ . }}
  port: probes
{{- end }}

{{/* What is left on a host when both daemons are gone. A container that is restarted needs its library,
so all of it stays until no pod has a device of ours; the answer is 1 while some have one, or if it is not known.
Nothing goes beside a plugin that runs, as after another installation: each holds a lock, and who has it alone
asks again, since another may have come and gone; so nobody serves the sockets of ours that one has left that was killed.
The daemon's folder goes once none holds its lock. */}}
{{- define "nvshare.cleanup.script" -}}
set -eu
lib=/host/lib/nvshare
run=/host/run/nvshare
until nvshare-device-plugin --unused --root-mount="$lib"; do [ $? -eq 1 ] || exit 1; sleep 5; done
if [ -e "$lib" ]; then
  exec 9>>"$lib/lock"
  flock --timeout 60 9
  nvshare-device-plugin --unused --root-mount="$lib"
fi
if [ -e "$run/lock" ]; then flock --timeout 60 "$run/lock" true; fi
rm -rf "$run" "$lib"
rm -f /host/run/cdi/nvshare.com-* /host/device-plugins/nvshare-*-[0-9]*-????????-[0-9]*.sock
rmdir /host/run/cdi 2>/dev/null || true
{{- if eq (include "nvshare.nodeLabels" .) "nfd" }}
rm -f /host/features.d/nvshare
{{- end }}
{{- end }}
