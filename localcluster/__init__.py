"""A real Kubernetes on this machine, for the tests and for trying things out.

The rest of the project needs a kubeconfig and nothing else, so that is what this
package gives: `python -m localcluster up` ends with its path. See README.md.

What other code of the project may call:

* `localcluster.binaries.ensure(names)` gives the folder that holds the named
  programs (`kube-apiserver`, `etcd`, `kubectl`, `helm`, ...), building what is missing.
* `localcluster.cache.folder()` gives the folder in which builds are kept.
"""
