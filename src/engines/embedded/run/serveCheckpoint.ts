import { availableParallelism } from 'node:os';
import { deferred, Sequencer } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import { parseTokenizerJson } from '../../../core/text/parseTokenizerJson.ts';
import { lockServed, openControl, servedId } from '../../../runs/runControl.ts';
import type { EngineProcess } from '../../shared/engineProcess.ts';
import { policyControls } from '../../shared/runControls.ts';
import { createLearner } from '../createLearner.ts';
import { parameterSpecs } from '../model/parameters.ts';
import { readCheckpoint, storedHeads, storedParameters, storedReference } from './checkpointFolder.ts';
import { PolicyService } from './policyService.ts';

/** Rows per micro-batch. Results do not need to be bit-identical here. */
const rows = 64;

/** Answers `policy/*` requests with a checkpoint's weights until stopped. Does not train or write files. */
export function serveCheckpoint(folder: string): EngineProcess {
	const done = deferred<void>();
	const serve = async (): Promise<number> => {
		const alive = setInterval(() => undefined, 1 << 30);
		try {
			const checkpoint = await readCheckpoint(folder);
			const { shape, thoughts = null } = checkpoint.state;
			const tokenizer = parseTokenizerJson(checkpoint.tokenizer, `${folder}/tokenizer.json`);
			const specs = parameterSpecs(shape);
			const learner = await createLearner({
				shape,
				parameters: storedParameters(checkpoint, specs),
				// Latent thoughts can only be sampled on the CPU.
				device: thoughts === null ? 'auto' : 'cpu',
				workers: availableParallelism(),
				sampleRows: rows,
				trainRows: rows,
			});
			const reference = storedReference(checkpoint, specs);
			if (reference) await learner.restoreReference(reference);
			for (const [name, flat] of storedHeads(checkpoint, learner.headParameters)) await learner.addHead(name, flat);
			const lock = await lockServed(folder);
			const turns = new Sequencer();
			const policy = new PolicyService(
				learner,
				tokenizer,
				(task) => turns.queue(task),
				() => thoughts,
			);
			const server = await openControl(folder, servedId, {
				serving: true,
				extensions: () => policy.extensions,
				handlers: policyControls(() => policy, true),
			});
			process.stdout.write(`${JSON.stringify({ serving: folder, step: checkpoint.state.step })}\n`);
			try {
				await done.promise;
			} finally {
				server.dispose();
				await lock.release();
				await learner.dispose();
			}
			return 0;
		} catch (error) {
			const failure = Failure.from(error);
			process.stderr.write(`${failure.toString()}\n`);
			return failure.reason === 'internal' ? 1 : 2;
		} finally {
			clearInterval(alive);
		}
	};
	return { stop: () => done.resolve(), crash: (error) => done.reject(error), exit: serve() };
}
