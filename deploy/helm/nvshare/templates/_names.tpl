{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Names and labels. */}}

{{- define "nvshare.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "nvshare.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "nvshare.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{/* Never change: selectors of DaemonSets are immutable. */}}
{{- define "nvshare.selectorLabels" -}}
app.kubernetes.io/name: {{ include "nvshare.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "nvshare.labels" -}}
{{ include "nvshare.selectorLabels" . }}
app.kubernetes.io/part-of: nvshare
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- if eq .root.Release.Service "Helm" }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | quote }}
{{- end }}
{{- end }}

{{/* How labels get onto nodes: auto is nfd where the cluster knows Node Feature Discovery. */}}
{{- define "nvshare.nodeLabels" -}}
{{- if ne .Values.nodeLabels "auto" -}}
{{- .Values.nodeLabels }}
{{- else if .Capabilities.APIVersions.Has "nfd.k8s-sigs.io/v1alpha1" -}}
nfd
{{- else -}}
none
{{- end -}}
{{- end }}

{{/* Of an object: root, component, and what its name ends with. */}}
{{- define "nvshare.metadata" -}}
name: {{ include "nvshare.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ include "nvshare.namespace" .root | quote }}
labels:
  {{- include "nvshare.labels" . | nindent 2 }}
{{- end }}

{{- define "nvshare.image" -}}
{{- with .root.Values.image.registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{ .of.image }}:{{ default (default .root.Chart.AppVersion .root.Values.image.tag) .of.tag }}
{{- end }}

{{- define "nvshare.scheduler.account" -}}
{{- $account := .Values.scheduler.serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-scheduler" (include "nvshare.fullname" .)) $account.name }}
{{- else -}}
{{- default "default" $account.name }}
{{- end -}}
{{- end }}

{{- define "nvshare.devicePlugin.account" -}}
{{- $account := .Values.devicePlugin.serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-device-plugin" (include "nvshare.fullname" .)) $account.name }}
{{- else -}}
{{- default "default" $account.name }}
{{- end -}}
{{- end }}

{{- define "nvshare.configMap" -}}
{{- default (printf "%s-device-plugin" (include "nvshare.fullname" .)) .Values.config.name }}
{{- end }}

{{/* Of a config, in names and labels of objects: keys of a ConfigMap and labels of nodes may have capitals,
underscores and more letters. The sum keeps apart what would be the same without them. */}}
{{- define "nvshare.configSuffix" -}}
{{- $is_name := regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" . -}}
{{- if and $is_name (not (gt (len .) 49)) -}}
{{- . }}
{{- else -}}
{{- lower . | replace "_" "-" | replace "." "-" | trunc 40 }}-{{ sha256sum . | trunc 8 }}
{{- end -}}
{{- end }}

{{/* Request and limit: what is lent to programs, and 512Mi for the daemon itself. */}}
{{- define "nvshare.scheduler.memory" -}}
{{- $lent := toString .Values.scheduler.hostMemory -}}
{{- if hasSuffix "Gi" $lent -}}
{{- add (mul (int64 (trimSuffix "Gi" $lent)) 1024) 512 }}Mi
{{- else -}}
{{- add (int64 (trimSuffix "Mi" $lent)) 512 }}Mi
{{- end -}}
{{- end }}
