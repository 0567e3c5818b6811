{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Makes nothing, and refuses what the schema cannot. */}}
{{- define "nvshare.validate" -}}
{{- if and (eq (include "nvshare.namespace" .) "default") (not .Values.allowDefaultNamespace) -}}
{{- fail "nvshare in the namespace default is most likely a mistake: use --namespace nvshare-system --create-namespace, or set allowDefaultNamespace" -}}
{{- end -}}
{{- $cleanup := printf "%s-cleanup" (include "nvshare.fullname" .) -}}
{{- $namespace := include "nvshare.namespace" . -}}
{{- if lookup "apps/v1" "DaemonSet" $namespace $cleanup -}}
{{- fail (printf "an uninstallation has not ended, and would take away what is installed now: kubectl -n %s delete --ignore-not-found daemonset,job,role,rolebinding,serviceaccount %s %s-scc" $namespace $cleanup $cleanup) -}}
{{- end -}}
{{- if and .Values.config.map .Values.config.name -}}
{{- fail "config.map and config.name exclude each other" -}}
{{- end -}}
{{- if and .Values.config.name (not .Values.config.names) -}}
{{- fail "config.name needs config.names: which keys of the ConfigMap are configs" -}}
{{- end -}}
{{- $configs := .Values.config.names -}}
{{- if .Values.config.map }}{{ $configs = keys .Values.config.map }}{{ end -}}
{{- if and (gt (len $configs) 1) (not .Values.config.default) -}}
{{- fail "config.default must say which of the configs nodes without a label get" -}}
{{- end -}}
{{- if and .Values.config.default (not (has .Values.config.default $configs)) -}}
{{- fail (printf "config.default is %s, and no config is called so" .Values.config.default) -}}
{{- end -}}
{{- range without $configs .Values.config.default -}}
{{- if not (regexMatch "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$" .) -}}
{{- fail (printf "no label of a node can be %s, so none can choose that config: letters and digits, and - _ . between them" .) -}}
{{- end -}}
{{- end -}}
{{- include "nvshare.validate.cdi" . -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled" -}}
{{- end -}}
{{- end }}

{{/* Kubelets before 1.29 drop the names of CDI devices without a word (1.28: unless a feature gate is
set), and containers would run without library and GPU. */}}
{{- define "nvshare.validate.cdi" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- if semverCompare "<1.29-0" $version -}}
{{- $plugin := .Values.devicePlugin -}}
{{- if or (eq (default "" $plugin.injection) "cdi-cri") (contains "cdi-cri" (default "" $plugin.deviceListStrategy)) -}}
{{- fail (printf "cdi-cri needs Kubernetes 1.29, and this is %s: choose another devicePlugin.injection or devicePlugin.deviceListStrategy" $version) -}}
{{- end -}}
{{- range $name, $text := .Values.config.map -}}
{{- if regexMatch "(?m)^[^#]*cdi-cri" $text -}}
{{- fail (printf "cdi-cri needs Kubernetes 1.29, and this is %s: config.map.%s says it" $version $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
