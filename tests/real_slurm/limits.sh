# The limits that go with limits.conf; python -m real_slurm --conf limits.conf --before limits.sh.
set -e
sacctmgr -i -Q add qos few
sacctmgr -i -Q modify qos few set maxjobsperuser=2
sacctmgr -i -Q modify qos normal set maxtresperuser=cpu=20
sacctmgr -i -Q modify user hpcdispatch-a where account=phys set maxjobs=5
sacctmgr -i -Q modify account chem set grptres=cpu=16
