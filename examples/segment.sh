#!/bin/sh
#SBATCH --job-name=segment
#SBATCH --nodes=1
echo "segmenting $1"
