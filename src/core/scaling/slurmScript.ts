import { Failure } from '../../base/failure.ts';

export interface SlurmOptions {
	/** Job name. */
	readonly name: string;
	/** Prepared run folder, on a file system shared by all nodes. */
	readonly run: string;
	/** Build output folder, shared by all nodes. */
	readonly dist: string;
	/** Node.js executable on the first node: a path, or a command on its PATH. */
	readonly node: string;
	/** Minimum Node.js version, such as `22.18.0`. */
	readonly leastNode: string;
	readonly python: string;
	readonly nodes: number;
	/** GPUs per node; 0 runs on the CPU with one process per node. */
	readonly gpusPerNode: number;
	readonly cpusPerNode: number;
	/** Time limit in Slurm syntax: minutes, or [days-]hours:minutes:seconds. */
	readonly time: string;
	readonly partition?: string;
	readonly account?: string;
	/** Memory per node, such as 200G. Default: the Slurm default. */
	readonly memory?: string;
}

/** Seconds before the time limit at which Slurm signals the job, so it can finish the batch and write a checkpoint. */
const warningSeconds = 300;
const port = 29_500;

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Formats an #SBATCH line; throws `invalid` for values it cannot represent. */
function directive(name: string, value: string | number): string {
	const text = String(value);
	if (!/^[\w.:@/=+,-]+$/.test(text)) {
		throw new Failure('invalid', `--${name} has the value ${JSON.stringify(text)}, which cannot be written in an #SBATCH line.`);
	}
	return `#SBATCH --${name}=${text}`;
}

/**
 * Generates an sbatch script that runs the driver on the first node and torchrun on every node; rank 0 connects to the
 * driver. Resubmitting the script resumes from the latest checkpoint, as does a requeue by Slurm.
 */
export function slurmScript(options: SlurmOptions): string {
	const {
		name,
		run,
		dist,
		node,
		leastNode,
		python,
		nodes,
		gpusPerNode,
		cpusPerNode,
		time,
		partition,
		account,
		memory,
	} = options;
	if (!/^(\d+|\d+:\d+|\d+:\d+:\d+|\d+-\d+(:\d+(:\d+)?)?)$/.test(time)) {
		throw new Failure('invalid', `Invalid --time: "${time}".`, 'Use minutes, or [days-]hours:minutes:seconds.');
	}
	const processes = Math.max(1, gpusPerNode);
	const [major, minor] = leastNode.split('.');
	const directives = [
		directive('job-name', name.replace(/[^\w.-]+/g, '-')),
		directive('nodes', nodes),
		directive('ntasks-per-node', 1),
		...(gpusPerNode > 0 ? [directive('gpus-per-node', gpusPerNode)] : []),
		directive('cpus-per-task', cpusPerNode),
		...(memory === undefined ? [] : [directive('mem', memory)]),
		directive('time', time),
		...(partition === undefined ? [] : [directive('partition', partition)]),
		...(account === undefined ? [] : [directive('account', account)]),
		directive('signal', `B:TERM@${warningSeconds}`),
		'#SBATCH --requeue',
	];
	return `#!/bin/bash
${directives.join('\n')}
# Made by "reasoning-lab slurm". sbatch it from any folder; sbatch it again to go on from the newest checkpoint.
set -euo pipefail

RUN=${quoted(run)}
DIST=${quoted(dist)}
NODE=${quoted(node)}
PYTHON=${quoted(python)}

exec >> "$RUN/engine.log" 2>&1
export PYTHONPATH="$DIST/trainer" PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=false HF_HUB_DISABLE_TELEMETRY=1
export OMP_NUM_THREADS=${Math.max(1, Math.floor(cpusPerNode / processes))}
export REASONING_LAB_PYTHON="$PYTHON"

# Of this node, not of the machine that the script was made on.
if ! version=$("$NODE" -p process.versions.node); then
	echo "The job cannot start: there is no Node $NODE on $(hostname). Install ${major}.${minor} or newer, or make the script with --node PATH."
	exit 2
fi
IFS=. read -r node_major node_minor _ <<< "$version"
if (( node_major < ${major} || (node_major == ${major} && node_minor < ${minor}) )); then
	echo "The job cannot start: $NODE on $(hostname) is Node $version, and ${major}.${minor} or newer is needed. Make the script with --node PATH."
	exit 2
fi

# The driver of the run: it holds the run folder, scores rewards, answers control requests. It prints where it listens.
exchange=$(mktemp -d)
mkfifo "$exchange/in" "$exchange/out"
"$NODE" "$DIST/driver.js" --run "$RUN" --join --resume < "$exchange/in" > "$exchange/out" &
driver=$!
# It ends when this script does, whatever ends that: nobody else holds the other end of its input.
exec 3> "$exchange/in" 4< "$exchange/out"
rm -r "$exchange"
if ! read -r announced <&4; then
	wait "$driver" || exit $?
	exit 0
fi
REASONING_LAB_TRAINER_SOCKET=$(sed -E 's/.*"socket":"([^"]*)".*/\\1/' <<< "$announced")
REASONING_LAB_TRAINER_TOKEN=$(sed -E 's/.*"token":"([^"]*)".*/\\1/' <<< "$announced")
export REASONING_LAB_TRAINER_SOCKET REASONING_LAB_TRAINER_TOKEN

# Slurm says so before the time is over: the batch ends, and a checkpoint is written.
trap 'kill -TERM "$driver" 2> /dev/null || true' TERM INT

# Rank 0 must be on this node, where the driver is: so the ranks follow the nodes.
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
export MASTER_ADDR
srun --kill-on-bad-exit=1 --export=ALL bash -c 'exec "$0" -m torch.distributed.run \\
	--nnodes="$SLURM_NNODES" --node-rank="$SLURM_NODEID" --nproc-per-node=${processes} \\
	--master-addr="$MASTER_ADDR" --master-port=${port} -m reasoning_lab_trainer' "$PYTHON" 3>&- 4<&- &
trainer=$!

# A signal ends a wait, not what is waited for.
outcome() {
	local status=0 again
	while :; do
		wait "$1" && status=0 || status=$?
		kill -0 "$1" 2> /dev/null || break
	done
	# Where it ended just when a signal came, its status is still to be had.
	if [ "$status" -gt 128 ]; then
		wait "$1" 2> /dev/null && status=0 || { again=$?; [ "$again" -eq 127 ] || status=$again; }
	fi
	return "$status"
}
status=0
outcome "$driver" || status=$?
outcome "$trainer" || true
exit "$status"
`;
}
