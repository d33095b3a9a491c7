import { Failure } from '../../../base/failure.ts';
import { formatBytes, formatCounted } from '../../../base/format.ts';
import { latentFormIn } from '../../../core/latent/latentCurriculum.ts';
import { sha256 } from '../../../files/sha256.ts';
import type { PrecisionName } from '../../../protocol/recipeKeys/torchRecipe.ts';
import type { OrderlyEnd } from '../../../protocol/runRecord.ts';
import { openDataset } from '../../../runs/openDataset.ts';
import { readEvents } from '../../../runs/runReader.ts';
import type { EngineProcess } from '../../shared/engineProcess.ts';
import { type OpenedRun, type RunArguments, runWith, type Training } from '../../shared/engineRun.ts';
import type { Progress } from '../../shared/progress.ts';
import { adopt, nothingBefore, recallAccuracy, takeUp } from '../../shared/runPast.ts';
import { adapterName } from './adapterName.ts';
import { readCheckpoint } from './checkpointFolder.ts';
import { earlierDevice } from './earlierDevice.ts';
import { type OpenedEnvironment, openEnvironment } from './episodes/openedEnvironment.ts';
import { GpuMemoryWatch } from './gpuMemoryWatch.ts';
import { openLabelFiles } from './heads/labelFile.ts';
import { openImitationFiles } from './imitation/imitationFiles.ts';
import { PolicyService, policyExtensions } from './policyService.ts';
import { openPairFiles } from './preference/pairFiles.ts';
import { type StartedTraining, startTraining } from './startTraining.ts';
import { TrainingRun } from './trainingRun.ts';
import { engineVersions } from './versions.ts';

/** Executes the run in a run directory with the embedded engine. */
export function runEngine(args: RunArguments): EngineProcess {
	return runWith(
		{
			name: 'embedded',
			versions: engineVersions,
			extensions: policyExtensions,
			heads: true,
			open: (run) => new EmbeddedTraining(run),
		},
		args,
	);
}

class EmbeddedTraining implements Training {
	readonly #run: OpenedRun;
	#started: StartedTraining | null = null;
	#policy: PolicyService | null = null;
	#environment: OpenedEnvironment | null = null;
	#memory: GpuMemoryWatch | null = null;

	constructor(run: OpenedRun) {
		this.#run = run;
	}

	get progress(): Progress | null {
		return this.#started?.progress ?? null;
	}

	get policy(): PolicyService | null {
		return this.#policy;
	}

	async train(): Promise<OrderlyEnd> {
		const run = this.#run;
		const { recipe, resume, writer, gate } = run;
		const dataset = await openDataset(recipe.dataset);
		const labels = await openLabelFiles(recipe);
		const pairs = await openPairFiles(recipe);
		const imitation = await openImitationFiles(recipe);
		const files = [labels.hash, imitation.hash, pairs.hash].filter((hash) => hash !== null);
		await run.settleData(files.length === 0 ? dataset.hash : sha256(dataset.hash + files.join('')));
		const start = await run.startPoint();
		const checkpoint = start === null ? null : await readCheckpoint(start.folder);
		const branches = start !== null && !start.own;
		const earlier = earlierDevice(resume ? await readEvents(run.folder) : []);
		const lastDevice = earlier.provider;
		const warn = (message: string, fields: Readonly<Record<string, string | number>> = {}) => {
			void writer.appendEvent({ type: 'alert', level: 'warning', message, ...fields }).catch(() => undefined);
		};
		this.#environment = await openEnvironment(run.folder, recipe, dataset.source);
		this.#memory = recipe.device === 'cpu' ? null : await GpuMemoryWatch.start();
		const total = this.#memory?.total ?? null;
		const deviceBytes = earlier.memory === undefined ? total : earlier.memory;
		const started = await startTraining({
			recipe,
			lastDevice,
			deviceBytes,
			dataset,
			checkpoint,
			rewards: run.rewards.loaded,
			labels,
			pairs,
			imitation,
			environment: this.#environment,
			signal: gate.stopSignal,
			onLeftOut: (count, why) => {
				const rows = formatCounted(count, 'row has been', 'rows have been');
				warn(`${rows} skipped so far: ${why}.`);
			},
			onFewerRows: (use, count) => {
				const rows = formatCounted(count, 'row', 'rows');
				warn(`GPU memory was full, so micro-batches are limited to ${rows} from now on.`, { use, rows: count });
			},
			reducedRows: earlier.reducedRows,
		}).catch((error: unknown) => {
			// Loading rewards and playing the first episodes can take a long time, and a stop request does not wait for them.
			if (Failure.from(error).reason === 'cancelled' && gate.stopRequest) return null;
			throw error;
		});
		if (started === null) return 'stopped';
		this.#started = started;
		const { parts, progress } = started;
		const past = resume ? await takeUp(writer, checkpoint?.state.step ?? null) : nothingBefore;
		recallAccuracy(past, progress);
		if (checkpoint !== null && branches) {
			await adopt(writer, progress, { run: checkpoint.state.run.id, checkpoint: checkpoint.folder });
		}
		const { provider, workers, tried, measured } = parts.learner.execution;
		if (provider === 'cpu') this.#stopWatch();
		const { precision = 'float32' } = recipe;
		const adapter = provider === 'cpu' ? null : await adapterName(provider, gate.stopSignal);
		const device = provider === 'cpu' ? cpuInWords(workers) : gpuInWords(provider, precision, adapter);
		await writer.updateRecord({ device });
		const rejected = tried.map(({ provider, error }) => ({ provider, error }));
		await writer.appendEvent({
			type: 'device',
			took: provider,
			tried: rejected,
			measured,
			asked: recipe.device,
			precision,
			...(provider === 'cpu' ? {} : { adapter, memory: deviceBytes }),
		});
		if (lastDevice !== null && lastDevice !== provider) {
			const message = `This attempt runs on ${provider}, but the last one ran on ${lastDevice}, so results will differ due to rounding.`;
			await writer.appendEvent({ type: 'alert', level: 'warning', message });
		}
		if (provider !== 'cpu' && deviceBytes !== null && total !== null && total < deviceBytes) {
			const message = `This GPU has ${formatBytes(total)} of memory. Micro-batches are still sized for the ${formatBytes(deviceBytes)} that the run started with, so that rounding stays the same.`;
			await writer.appendEvent({ type: 'alert', level: 'warning', message });
		}
		if (await run.waitForDevice(provider, device)) return 'stopped';
		this.#policy = new PolicyService(
			parts.learner,
			parts.tokenizer,
			(task) => gate.withLearner(task),
			() => latentFormIn(parts.recipe.stages, progress)?.thoughts ?? null,
		);
		const columns = parts.rewards.scorers.map(({ column: { name, weight } }) => ({ name, weight }));
		await writer.updateRecord({ status: 'running', step: progress.step, rewards: columns });
		await writer.appendEvent(
			resume ? { type: 'resumed', attempt: writer.record.attempt, fromStep: progress.step } : { type: 'started' },
		);
		const training = new TrainingRun(parts, {
			recipe: parts.recipe,
			rewards: parts.rewards,
			writer,
			gate,
			progress,
			past,
			checkpointAt: start?.own ? (checkpoint?.state.step ?? null) : null,
			vocabulary: started.vocabulary,
			ahead: started.ahead,
			memory: this.#memory,
			onChanged: () => run.changed(),
		});
		// A run branched from another run keeps its own copy of the starting weights, so it can resume without the parent.
		if (branches) await training.checkpoint();
		return training.run();
	}

	#stopWatch(): void {
		this.#memory?.dispose();
		this.#memory = null;
	}

	async dispose(): Promise<void> {
		this.#stopWatch();
		this.#environment?.dispose();
		await this.#started?.parts.learner.dispose();
	}
}

const cpuInWords = (workers: number): string => `cpu (${formatCounted(workers, 'worker')})`;

/** @param adapter null if unknown */
function gpuInWords(provider: string, precision: PrecisionName, adapter: string | null): string {
	const rounding = precision === 'float32' ? '' : ` (${precision})`;
	return `${provider}${rounding}${adapter === null ? '' : ` on ${adapter}`}`;
}
