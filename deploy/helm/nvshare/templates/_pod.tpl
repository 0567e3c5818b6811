{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* What the pods of the daemons have in common. */}}

{{/* root, and what to AND to each term: a list of expressions. */}}
{{- define "nvshare.placement" -}}
{{- $also := .also -}}
{{- if or .root.Values.nodeTerms $also }}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        {{- range default (list (dict "matchExpressions" list)) .root.Values.nodeTerms }}
        - matchExpressions:
            {{- concat .matchExpressions $also | toYaml | nindent 12 }}
        {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "nvshare.podSettings" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- end }}

{{/* root, and the capabilities that a container needs: a list. Root, because the kubelet's sockets and
our folder are root's; and nothing beyond it but those. */}}
{{- define "nvshare.securityContext" -}}
runAsUser: 0
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
  {{- with .capabilities }}
  add:
    {{- toYaml . | nindent 4 }}
  {{- end }}
seccompProfile:
  type: RuntimeDefault
{{- with .root.Values.seLinuxOptions }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* NVIDIA's runtime gives the container NVML and the devices to ask; and what of the driver is named
here. */}}
{{- define "nvshare.env" -}}
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: NVIDIA_VISIBLE_DEVICES
  value: all
- name: NVIDIA_DRIVER_CAPABILITIES
  value: {{ . }}
{{- end }}

{{- define "nvshare.updateStrategy" -}}
type: RollingUpdate
rollingUpdate:
  maxUnavailable: 1
  # Two device plugins at once cut each other off (kubelet 1.36 and before), and two daemons cannot
  # have one folder.
  maxSurge: 0
{{- end }}

{{/* No versions among the labels: pods would be started anew for them, the scheduler's too. */}}
{{- define "nvshare.podMetadata" -}}
labels:
  {{- include "nvshare.selectorLabels" . | nindent 2 }}
  app.kubernetes.io/part-of: nvshare
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if or .root.Values.podAnnotations .annotations }}
annotations:
  {{- with .annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}
