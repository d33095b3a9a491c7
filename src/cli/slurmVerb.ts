import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { minNode } from '../base/nodeVersion.ts';
import { slurmScript } from '../core/scaling/slurmScript.ts';
import { changed, prepareRun } from '../runs/prepareRun.ts';
import { readRecipeFile } from '../runs/recipeFile.ts';
import { integer, path, text } from './options.ts';
import { changeOptions, recipeChanges } from './runVerb.ts';
import { defineVerb } from './verb.ts';

export const slurmVerb = defineVerb({
	name: 'slurm',
	group: 'Train',
	arguments: [{ name: 'recipe', phrase: 'a recipe file', type: 'path' }],
	summary: 'Prepare a run folder with an sbatch script for a Slurm cluster.',
	options: {
		nodes: integer('N', 'Number of nodes (default: 1).', 1),
		'gpus-per-node': integer('N', 'GPUs per node, with one process each (default: 8; 0 with "device": "cpu").'),
		'cpus-per-node': integer('N', 'CPU cores per node (default: 8).', 1),
		time: text('T', 'Time limit in Slurm format (default: 24:00:00).'),
		partition: text('P', 'Slurm partition.'),
		account: text('A', 'Slurm account.'),
		mem: text('M', 'Memory per node in Slurm format.'),
		python: path(
			'PATH',
			"Python interpreter with the trainer's packages, available on all nodes (default: REASONING_LAB_PYTORCH, else python3).",
		),
		node: path('PATH', 'Node.js on the first node (default: REASONING_LAB_NODE, else node on its PATH).'),
		...changeOptions,
	},
	async run({ values, positionals, output, engine }) {
		const nodes = values.nodes ?? 1;
		const askedGpus = values['gpus-per-node'];
		const cpusPerNode = values['cpus-per-node'] ?? 8;
		const changes = recipeChanges(values);
		const { recipe: read } = await readRecipeFile(resolve(positionals[0] as string), (value) =>
			changed(value, changes),
		);
		const onProcessor = read.device === 'cpu';
		if (onProcessor && askedGpus !== undefined && askedGpus > 0) {
			throw new Failure(
				'invalid',
				`The recipe trains on the CPU ("device": "cpu"), so the ${askedGpus} GPUs requested by --gpus-per-node would be idle.`,
				'Omit --gpus-per-node, or add --set device=cuda.',
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
			minNode: minNode,
			python: values.python ?? process.env.REASONING_LAB_PYTORCH ?? 'python3',
			time: values.time ?? '24:00:00',
			...(values.partition === undefined ? {} : { partition: values.partition }),
			...(values.account === undefined ? {} : { account: values.account }),
			...(values.mem === undefined ? {} : { memory: values.mem }),
		};
		// Validate the options before creating a folder.
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
		output.line(`Prepared ${folder} for ${formatCounted(processes, 'process', 'processes')}. To start it, run`);
		output.line(`  sbatch ${script}`);
		return 0;
	},
});
