//go:build tools

// Package tools names the programs this module pins, so that `go mod tidy` keeps their dependencies.
package tools

import (
	_ "github.com/zegl/kube-score/cmd/kube-score"
)
