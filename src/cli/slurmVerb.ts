import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { leastNode } from '../base/nodeVersion.ts';
import { slurmScript } from '../core/scaling/slurmScript.ts';
import { changed, prepareRun } from '../runs/prepareRun.ts';
import { readRecipeFile } from '../runs/recipeFile.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import { changeHelp, changeOptions, recipeChanges } from './runVerb.ts';
import type { Verb } from './verb.ts';

export const slurmVerb: Verb = {
	name: 'slurm',
	usage: '<recipe>',
	summary: 'Prepare a run for a Slurm cluster: its folder, and in it a script for sbatch.',
	options: [
		['--nodes N', 'Nodes (default 1).'],
		['--gpus-per-node N', 'GPUs of a node, one process each (default 8, with "device": "cpu" 0: processors alone).'],
		['--cpus-per-node N', 'Processors of a node (default 8).'],
		['--time T', 'Longest time, as Slurm takes it (default 24:00:00).'],
		['--partition P, --account A, --mem M', "Slurm's own, as they are."],
		[
			'--python PATH',
			"Python with the trainer's packages, on all nodes (default: REASONING_LAB_PYTORCH, else python3).",
		],
		['--node PATH', 'Node on the first node (default: REASONING_LAB_NODE, else node on the PATH there).'],
		...changeHelp,
	],
	async run({ args, output, engine }) {
		const { values, positionals } = parseArguments(
			'slurm',
			args,
			{
				...changeOptions,
				nodes: { type: 'string' },
				'gpus-per-node': { type: 'string' },
				'cpus-per-node': { type: 'string' },
				time: { type: 'string' },
				partition: { type: 'string' },
				account: { type: 'string' },
				mem: { type: 'string' },
				python: { type: 'string' },
				node: { type: 'string' },
			},
			{ names: ['a recipe file'], least: 1, most: 1 },
		);
		const nodes = positive(wholeNumber(values.nodes, '--nodes') ?? 1, '--nodes');
		const askedGpus = wholeNumber(values['gpus-per-node'], '--gpus-per-node');
		const cpusPerNode = positive(wholeNumber(values['cpus-per-node'], '--cpus-per-node') ?? 8, '--cpus-per-node');
		const changes = recipeChanges(values);
		const { recipe: read } = await readRecipeFile(resolve(positionals[0] as string), (value) =>
			changed(value, changes),
		);
		const onProcessor = read.device === 'cpu';
		if (onProcessor && askedGpus !== undefined && askedGpus > 0) {
			throw new Failure(
				'invalid',
				`The recipe trains on the processor ("device": "cpu"), so the ${askedGpus} GPUs of --gpus-per-node would stand idle.`,
				'Leave it out, or add --set device=cuda.',
			);
		}
		const gpusPerNode = askedGpus ?? (onProcessor ? 0 : 8);
		const processes = nodes * Math.max(1, gpusPerNode);
		const options = {
			nodes,
			gpusPerNode,
			cpusPerNode,
			dist: resolve(dirname(engine)),
			node: values.node ?? process.env.REASONING_LAB_NODE ?? 'node',
			leastNode,
			python: values.python ?? process.env.REASONING_LAB_PYTORCH ?? 'python3',
			time: values.time ?? '24:00:00',
			...(values.partition === undefined ? {} : { partition: values.partition }),
			...(values.account === undefined ? {} : { account: values.account }),
			...(values.mem === undefined ? {} : { memory: values.mem }),
		};
		// Faults of the options are told before a folder is made.
		slurmScript({ ...options, name: 'run', run: '/run' });
		const { folder, recipe } = await prepareRun(positionals[0] as string, {
			...changes,
			set: [
				...(changes.set ?? []),
				{ path: ['engine'], value: 'pytorch' },
				{ path: ['pytorch', 'processes'], value: processes },
			],
		});
		const script = join(folder, 'slurm.sh');
		await writeFile(script, slurmScript({ ...options, name: recipe.name, run: folder }), { mode: 0o755 });
		output.object({ run: folder, script, processes });
		output.line(`Prepared ${folder} for ${formatCounted(processes, 'process', 'processes')}. Start it with`);
		output.line(`  sbatch ${script}`);
		return 0;
	},
};

function positive(value: number, option: string): number {
	if (value > 0) return value;
	throw new Failure('invalid', `${option} is ${value}; it takes 1 or more.`);
}
