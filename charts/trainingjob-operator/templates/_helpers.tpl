{{/* Short name of the chart. */}}
{{- define "trainingjob-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{/* Name of all objects; 53 characters leave room for a suffix within 63. */}}
{{- define "trainingjob-operator.fullname" -}}
{{- $name := include "trainingjob-operator.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{/* What selects the operator's pod. Never add to this: selectors of a Deployment cannot change. */}}
{{- define "trainingjob-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "trainingjob-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{/* Labels that tell the chart and its release; an object adds its own component. */}}
{{- define "trainingjob-operator.chartLabels" -}}
app.kubernetes.io/name: {{ include "trainingjob-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/part-of: trainingjob-operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Labels of all objects of the operator. */}}
{{- define "trainingjob-operator.labels" -}}
{{ include "trainingjob-operator.chartLabels" . }}
app.kubernetes.io/component: operator
{{- end }}

{{/* Labels of the roll call's objects: a component of their own, so that no monitor selects them. */}}
{{- define "trainingjob-operator.rollcallLabels" -}}
{{ include "trainingjob-operator.chartLabels" . }}
app.kubernetes.io/component: rollcall
{{- end }}

{{/* Name of the roll call's role: cluster-wide, though a release may be one of many namespaces. */}}
{{- define "trainingjob-operator.rollcallRole" -}}
{{- $full := include "trainingjob-operator.fullname" . -}}
{{- $digest := printf "%s/%s" .Release.Namespace $full | sha256sum | trunc 8 -}}
{{- printf "%s-%s-rollcall" ($full | trunc 40 | trimSuffix "-") $digest -}}
{{- end }}

{{/* The image: a digest wins over a tag. */}}
{{- define "trainingjob-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Name of the service account. */}}
{{- define "trainingjob-operator.serviceAccountName" -}}
{{- $own := ternary (include "trainingjob-operator.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end }}

{{/* Where pods send their reports; empty where the roll call is off. */}}
{{- define "trainingjob-operator.reportUrl" -}}
{{- if .Values.rollCall.enabled -}}
{{- $host := printf "%s-rollcall.%s.svc.%s" (include "trainingjob-operator.fullname" .) .Release.Namespace .Values.operator.clusterDomain -}}
{{- .Values.rollCall.url | default (printf "http://%s:%d/api/v1/reports" $host (int .Values.rollCall.port)) -}}
{{- end -}}
{{- end }}

{{/* A role's subject: the operator. */}}
{{- define "trainingjob-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "trainingjob-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* All that the operator may do, in the cluster or in each namespace that it serves. */}}
{{- define "trainingjob-operator.rules" -}}
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs]
  verbs: [get, list, watch, delete] # delete: ttlSecondsAfterFinished
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs/status]
  verbs: [patch]
- apiGroups: [trainingjob.dev]
  resources: [trainingjobs/finalizers]
  verbs: [update] # owner references, where the API server enforces permissions for them
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch] # patch: a job that was suspended may have another port
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create] # what pods report with, and the stacks of a group that stalled
- apiGroups: [""]
  resources: [secrets]
  verbs: [create] # the key of an MPI or Horovod job; none is ever read, not even our own
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- if and .Values.rollCall.enabled .Values.rollCall.records }}
# for the page: each time the API server is asked whether its reader may do the same
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- end }}
# groups of pods for gang schedulers; where a cluster lacks an API, its rule does nothing
- apiGroups: [scheduling.volcano.sh, scheduling.x-k8s.io, scheduling.k8s.io]
  resources: [podgroups]
  verbs: [get, list, create, patch, delete]
{{- end }}
