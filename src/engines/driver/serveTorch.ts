import { basename, dirname } from 'node:path';
import { type Deferred, deferred, Sequencer } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { decodeResolvedRecipe } from '../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import { runOfCheckpoint } from '../../runs/prepareRun.ts';
import { lockServed, openControl, servedId } from '../../runs/runControl.ts';
import { readResolvedRecipe } from '../../runs/runReader.ts';
import type { EngineProcess } from '../shared/engineProcess.ts';
import { policyControls } from '../shared/runControls.ts';
import { OrderExchange } from './orderExchange.ts';
import { readStartCheckpoint, type StartCheckpoint } from './torchCheckpoint.ts';
import { TrainerHost } from './trainerHost.ts';
import { TrainerPolicy } from './trainerPolicy.ts';
import { checkTrainerVersion, contract, type TrainerHandlers } from './trainerServer.ts';

/** How long the trainer has to exit on its own, in milliseconds. */
const farewellMs = 5000;

/** Answers `policy/*` requests using a checkpoint's weights. Does not train or write anything. Runs until stopped. */
export function serveTorch(folder: string): EngineProcess {
	const done = deferred<void>();
	let host: TrainerHost | null = null;
	const serve = async (): Promise<number> => {
		const alive = setInterval(() => undefined, 1 << 30);
		const orders = new OrderExchange();
		const ready = deferred<void>();
		ready.promise.catch(() => undefined);
		try {
			const start = await readStartCheckpoint(folder);
			const recipe = await recipeOf(folder);
			const lock = await lockServed(folder);
			try {
				const handlers = serveHandlers({ folder, start, recipe, orders, ready, done });
				const trainer = await TrainerHost.start({
					folder,
					id: servedId,
					// Serve from a single process, regardless of the number of processes used in training.
					recipe: recipe?.pytorch ? { ...recipe, pytorch: { ...recipe.pytorch, processes: 1 } } : recipe,
					handlers,
					log: null,
					joined: false,
				});
				host = trainer;
				const lost = trainer.lost(async () => ({ step: null, checkpoint: null })).then((why) => Promise.reject(why));
				const over = Promise.race([done.promise, lost]);
				over.catch(() => undefined);
				let farewell = 0;
				try {
					await Promise.race([ready.promise, over]);
					const turns = new Sequencer();
					const policy = new TrainerPolicy(orders, (task) => turns.queue(task));
					const server = await openControl(folder, servedId, {
						serving: true,
						extensions: () => policy.extensions,
						handlers: policyControls(() => policy, false),
					});
					process.stdout.write(`${JSON.stringify({ serving: folder, step: start.progress.step })}\n`);
					try {
						await over;
						orders.end({ do: 'stop' });
						farewell = farewellMs;
					} finally {
						server.dispose();
					}
				} finally {
					await trainer.end(farewell);
				}
			} finally {
				await lock.release();
			}
			return 0;
		} catch (error) {
			const failure = Failure.from(error);
			process.stderr.write(`${failure.toString()}\n`);
			return failure.reason === 'internal' ? 1 : 2;
		} finally {
			orders.close(new Failure('unavailable', `${basename(dirname(folder))} is no longer served.`));
			clearInterval(alive);
		}
	};
	return {
		stop: () => done.resolve(),
		crash: (error) => done.reject(error),
		abandon: () => host?.kill(),
		exit: serve(),
	};
}

/** Handlers for the requests and notifications from a trainer that serves a checkpoint. None of them involve training. */
function serveHandlers({
	folder,
	start,
	recipe,
	orders,
	ready,
	done,
}: {
	readonly folder: string;
	readonly start: StartCheckpoint;
	readonly recipe: ResolvedRecipe | null;
	readonly orders: OrderExchange;
	readonly ready: Deferred<void>;
	readonly done: Deferred<void>;
}): TrainerHandlers {
	const not = async (): Promise<never> => {
		throw contract(new Failure('invalid', 'The trainer attempted to train a model that it should only serve.'));
	};
	return {
		begin: async ({ protocol }) => {
			checkTrainerVersion(protocol);
			const { step, stageIndex, stageStep } = start.progress;
			return {
				mode: 'serve',
				run: { ...start.run, folder: runOfCheckpoint(folder) },
				recipe: recipe === null ? null : { ...recipe },
				columns: [],
				resume: {
					checkpoint: folder,
					step,
					stage: { index: stageIndex, step: stageStep },
					state: { ...start.trainer },
					sameRun: true,
				},
				newModel: null,
				problems: false,
			};
		},
		ready: async () => {
			ready.resolve();
			return orders.open([]);
		},
		'run/orders': ({ answers }) => orders.open(answers),
		alert: async ({ level, message }) => {
			process.stderr.write(`${level}: ${message}\n`);
			return {};
		},
		fault: async (fault) => {
			done.reject(Failure.of(fault));
			return {};
		},
		'data/problems': not,
		'data/opened': not,
		'rewards/score': not,
		'environment/describe': not,
		'environment/reset': not,
		'environment/call': not,
		'environment/reward': not,
		'environment/failed': not,
		stage: not,
		step: not,
		finished: not,
	};
}

/** Returns the recipe of the run that contains a checkpoint, if there is one. */
async function recipeOf(checkpoint: string): Promise<ResolvedRecipe | null> {
	const run = runOfCheckpoint(checkpoint);
	if (run === checkpoint) return null;
	return readResolvedRecipe(run)
		.then((value) => decodeResolvedRecipe(value, run))
		.catch(() => null);
}
