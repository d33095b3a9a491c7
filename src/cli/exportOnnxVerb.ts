import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatBytes } from '../base/format.ts';
import { exportPolicyOnnx } from '../engines/embedded/model/exportPolicy.ts';
import { parameterSpecs } from '../engines/embedded/model/parameters.ts';
import { readCheckpoint, storedParameters } from '../engines/embedded/run/checkpointFolder.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { checkpointFiles } from '../protocol/checkpointState.ts';
import { listCheckpoints } from '../runs/runReader.ts';
import { findRun } from './findRun.ts';
import { flag, path } from './options.ts';
import { defineVerb } from './verb.ts';

/** Returns the checkpoint folder for a path: the folder itself, or the latest or best checkpoint of a run. */
async function findCheckpoint(named: string, best: boolean): Promise<string> {
	const path = resolve(named);
	if ((await lstat(join(path, checkpointFiles.state)).catch(() => null))?.isFile()) return path;
	const run = await findRun(named);
	const checkpoints = await listCheckpoints(run);
	const chosen = best ? checkpoints.find((checkpoint) => checkpoint.best) : checkpoints.at(-1);
	if (chosen !== undefined) return chosen.path;
	throw new Failure(
		'missing',
		`${run} has no complete checkpoint${best && checkpoints.length > 0 ? ' with a measured accuracy' : ''}.`,
		'Wait until it has saved a checkpoint.',
	);
}

export const exportOnnxVerb = defineVerb({
	name: 'export-onnx',
	group: 'Runs',
	arguments: [{ name: 'run or checkpoint', phrase: 'a run or a checkpoint', type: 'path' }],
	summary: 'Export the policy as an ONNX file, together with its tokenizer.json.',
	options: {
		out: path('PATH', 'Output file (NAME.onnx) or existing folder (default: policy.onnx in the current folder).'),
		best: flag("Export the run's best checkpoint instead of its latest."),
	},
	async run({ values, positionals, output }) {
		const folder = await findCheckpoint(positionals[0] as string, values.best ?? false);
		const checkpoint = await readCheckpoint(folder).catch((error: unknown) => {
			if (!(error instanceof Failure) || error.reason !== 'unsupported') throw error;
			throw new Failure(
				'unsupported',
				`${folder} is a PyTorch checkpoint; only models from the embedded engine can be exported.`,
				`It is a Hugging Face model folder. To export it, run optimum-cli export onnx --model ${JSON.stringify(folder)} OUT.`,
			);
		});
		const out = await target(resolve(values.out ?? '.'));
		const { shape, run, step } = checkpoint.state;
		const bytes = exportPolicyOnnx(shape, storedParameters(checkpoint, parameterSpecs(shape)), {
			run: run.name,
			run_id: run.id,
			step: String(step),
		});
		const tokenizer = join(dirname(out), checkpointFiles.tokenizer);
		await writeFileAtomic(tokenizer, checkpoint.tokenizer);
		await writeFileAtomic(out, bytes);
		output.object({ onnx: out, tokenizer, bytes: bytes.length, step, run: run.id, checkpoint: checkpoint.folder });
		output.line(`${out} (${formatBytes(bytes.length)}, step ${step} of ${run.name}), with ${basename(tokenizer)}`);
		return 0;
	},
});

/** Returns the output path: policy.onnx inside an existing folder, or the given file name. */
async function target(path: string): Promise<string> {
	const info = await lstat(path).catch(() => null);
	if (info?.isDirectory()) return join(path, checkpointFiles.policy);
	if (path.endsWith('.onnx')) return path;
	throw new Failure(
		'invalid',
		`--out is ${path}, which is neither an existing folder nor an .onnx file name.`,
		'Specify an existing folder or a file name that ends in .onnx.',
	);
}
