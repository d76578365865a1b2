"""What starts MPI's processes in the pods of a job, where a cluster of machines would use ssh.

It lies in the pods of MPI and Horovod jobs and runs on the standard library of the image's Python
(3.8 or newer). Workers listen behind a door, the master launches once every worker answers, and
`ssh` brings a launcher's command to a door. Who commands must know the job's key (docs/mpi.md).
"""
