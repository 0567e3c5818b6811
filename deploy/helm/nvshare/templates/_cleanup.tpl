{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* The spec of the DaemonSet that takes away what is left on hosts: an init container does it, and
a container that sleeps shows that it is done. It goes to every node: taints may have changed. */}}
{{- define "nvshare.cleanup.daemonSet" -}}
{{- $root := .root -}}
{{- $image := include "nvshare.image" (dict "root" $root "of" $root.Values.devicePlugin) -}}
selector:
  matchLabels:
    {{- include "nvshare.selectorLabels" . | nindent 4 }}
template:
  metadata:
    {{- include "nvshare.podMetadata" . | nindent 4 }}
  spec:
    automountServiceAccountToken: false
    terminationGracePeriodSeconds: 0
    {{- with $root.Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $root.Values.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $root.Values.nodeTerms }}
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
            {{- toYaml . | nindent 12 }}
    {{- end }}
    tolerations:
      - operator: Exists
    initContainers:
      - name: cleanup
        image: {{ $image | quote }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        command: [sh, -c]
        args:
          - |
            {{- include "nvshare.cleanup.script" $root | nindent 12 }}
        resources:
          requests:
            cpu: 10m
            memory: 16Mi
          limits:
            memory: 64Mi
        securityContext:
          {{- include "nvshare.securityContext" (dict "root" $root "capabilities" list) | nindent 10 }}
        volumeMounts:
          - name: lib
            mountPath: /host/lib
          - name: run
            mountPath: /host/run
          - name: device-plugins
            mountPath: /host/device-plugins
          - name: pod-resources
            mountPath: {{ include "nvshare.podResourcesFolder" $root }}
            readOnly: true
          {{- if eq (include "nvshare.nodeLabels" $root) "nfd" }}
          - name: features
            mountPath: /host/features.d
          {{- end }}
    containers:
      - name: done
        image: {{ $image | quote }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        command: [sleep, infinity]
        resources:
          requests:
            cpu: 10m
            memory: 16Mi
          limits:
            memory: 64Mi
        securityContext:
          {{- include "nvshare.securityContext" (dict "root" $root "capabilities" list) | nindent 10 }}
    volumes:
      # A folder can only be removed by who has the one above it.
      - name: lib
        hostPath:
          path: /var/lib
          type: Directory
      - name: run
        hostPath:
          path: /var/run
          type: Directory
      - name: device-plugins
        hostPath:
          path: {{ include "nvshare.devicePluginsFolder" $root }}
          type: Directory
      - name: pod-resources
        hostPath:
          path: {{ $root.Values.kubeletPath }}/pod-resources
          type: Directory
      {{- if eq (include "nvshare.nodeLabels" $root) "nfd" }}
      - name: features
        hostPath:
          path: {{ include "nvshare.featuresFolder" $root }}
          type: DirectoryOrCreate
      {{- end }}
{{- end }}

{{/* After everything else is gone: the account, the pods on the nodes, then who waits for them and
deletes their DaemonSet. Helm removes what has the policy hook-succeeded when all have succeeded; since 3.19
also when a later one fails, so the DaemonSet, which must then go on, does not have it. */}}
{{- define "nvshare.hook" -}}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: {{ .policy }}
{{- end }}

{{- define "nvshare.cleanup.kubectlImage" -}}
{{- $image := .Values.cleanup.kubectlImage -}}
{{- if and .Values.image.registry (not (contains "/" $image)) -}}
{{- trimSuffix "/" .Values.image.registry }}/{{ $image }}
{{- else -}}
{{- $image }}
{{- end -}}
{{- end }}

{{/* Of a container that asks the API server one thing: the image has kubectl, and no shell. OpenShift
gives it a user of the namespace's own range, and refuses any other. */}}
{{- define "nvshare.cleanup.kubectl" -}}
image: {{ include "nvshare.cleanup.kubectlImage" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources:
  requests:
    cpu: 10m
    memory: 64Mi
  limits:
    memory: 256Mi
securityContext:
  runAsNonRoot: true
  {{- if not .Values.openshift.scc }}
  runAsUser: 65532
  {{- end }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
{{- end }}
