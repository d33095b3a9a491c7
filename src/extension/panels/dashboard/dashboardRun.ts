import * as v from 'valibot';
import type { Failure } from '../../../base/failure.ts';
import { advantageKind } from '../../../core/grpo/advantages/advantageSettings.ts';
import type { DashboardAction, DashboardRun, DashboardStage } from '../../../protocol/dashboardMessages.ts';
import { decode } from '../../../protocol/decode.ts';
import { learnsFromRewards } from '../../../protocol/recipeKeys/stageKinds.ts';
import type { AnyRunRecord, RunStatus } from '../../../protocol/runRecord.ts';
import { type EngineFacts, engineFactsOf, engineWaitOf } from '../../../runs/engineFacts.ts';
import { displayText } from '../../runView.ts';

/**
 * The parts of a recipe that affect how metrics are interpreted. Recipes from other trainers might lack any of them.
 */
const recipeFactsSchema = v.object({
	ray: v.optional(v.looseObject({ workers: v.optional(v.number()) })),
	pytorch: v.optional(v.looseObject({ processes: v.optional(v.number()) })),
	stages: v.array(
		v.looseObject({
			type: v.string(),
			steps: v.optional(v.number()),
			loss_type: v.optional(v.string()),
			beta: v.optional(v.number()),
			advantage_estimator: v.optional(v.string()),
			multi_objective_aggregation: v.optional(v.string()),
			scale_rewards: v.optional(v.string()),
			num_iterations: v.optional(v.number()),
			steps_per_generation: v.optional(v.number()),
			num_generations: v.optional(v.number()),
		}),
	),
});

/** Returns a frozen recipe's stages; empty if it is unreadable. */
export function stagesOf(recipe: unknown): DashboardStage[] {
	const decoded = decode(recipeFactsSchema, recipe);
	if (!decoded.ok) return [];
	return decoded.value.stages.slice(0, 100).map((stage) => ({
		name: displayText(stage.type, 40),
		type: displayText(stage.type, 40),
		steps: stage.steps ?? null,
		lossType: stage.loss_type === undefined ? null : displayText(stage.loss_type, 40),
		beta: stage.beta ?? null,
		advantages: advantageKind(stage),
		updatesPerBatch: learnsFromRewards(stage.type)
			? (stage.num_iterations ?? 1) * (stage.steps_per_generation ?? 1)
			: null,
		numGenerations: stage.num_generations ?? null,
	}));
}

/** Returns the number of training processes in a frozen recipe, or null if it is 1 or not recorded. */
export function workersOf(recipe: unknown): number | null {
	const decoded = decode(recipeFactsSchema, recipe);
	if (!decoded.ok) return null;
	const { ray, pytorch } = decoded.value;
	const workers = ray?.workers ?? pytorch?.processes ?? 1;
	return Number.isInteger(workers) && workers > 1 ? workers : null;
}

/** Returns the actions available for a run in this state. */
export function actionsFor(status: RunStatus | null): DashboardAction[] {
	const always: DashboardAction[] = ['openLog', 'openFolder'];
	switch (status) {
		case 'starting':
			return ['stop', ...always];
		case 'running':
			return ['pause', 'stop', 'checkpoint', 'hyperparameters', ...always];
		case 'paused':
			return ['continue', 'stop', 'checkpoint', 'hyperparameters', ...always];
		case 'stopped':
		case 'crashed':
			return ['resume', ...always];
		case 'finished':
			return always;
		case null:
			return ['openFolder'];
	}
}

/** Returns actions for a run whose engine is missing dependencies. */
function mending(record: AnyRunRecord | null, status: RunStatus | null): DashboardAction[] {
	const lacks = status === 'crashed' && /Set Up PyTorch Engine/.test(record?.error?.action ?? '');
	return lacks ? ['setUpPytorch'] : [];
}

function engineMessage({ versions, job }: EngineFacts, workers: number | null): DashboardRun['engineFacts'] {
	return {
		versions: versions.map(([name, version]) => [name, displayText(version, 40)]),
		job: job && {
			id: displayText(job.id, 120),
			address: displayText(job.address, 200),
			submissions: Math.max(1, Math.floor(job.submissions)),
		},
		workers,
	};
}

export interface RunFacts {
	readonly record: AnyRunRecord | null;
	/** Status derived from the record, the heartbeat, and the process. */
	readonly status: RunStatus | null;
	readonly failure: Failure | null;
	/** User-assigned name, or the folder name. */
	readonly name: string;
	readonly stages: readonly DashboardStage[];
	readonly checkpoints: readonly number[];
	/** Notes on the devices tried, from the run's events. */
	readonly deviceNotes?: readonly string[];
	/** Number of training processes from the recipe; null if not specified. */
	readonly workers: number | null;
	/** Current time in seconds since the epoch. */
	readonly now: number;
}

/** Converts a run to a dashboard message, truncating every string from the folder to one short line. */
export function dashboardRunOf(facts: RunFacts): DashboardRun {
	const { record, failure } = facts;
	const status = record === null ? null : facts.status;
	const waits = record !== null && (status === 'starting' || status === 'running');
	const wait = waits ? engineWaitOf(record) : null;
	const engine = record === null ? null : engineFactsOf(record);
	return {
		name: displayText(facts.name),
		status,
		...(wait === null ? {} : { wait }),
		fault:
			failure === null
				? null
				: {
						missing: failure.reason === 'missing',
						message: displayText(failure.message, 1000),
						action: failure.action ? displayText(failure.action, 400) : null,
					},
		error:
			status === 'crashed' && record?.error
				? {
						message: displayText(record.error.message, 1000),
						action: record.error.action ? displayText(record.error.action, 400) : null,
					}
				: null,
		...(status === 'paused' && record?.pause
			? {
					pause: {
						message: displayText(record.pause.message, 1000),
						action: record.pause.action ? displayText(record.pause.action, 400) : null,
					},
				}
			: {}),
		engine: displayText(engine?.title ?? '', 80),
		...(record?.foreign === undefined
			? engine === null
				? {}
				: { engineFacts: engineMessage(engine, facts.workers) }
			: {
					format: displayText(record.foreign.format, 80),
					notes: record.foreign.notes.slice(0, 20).map((note) => displayText(note, 400)),
				}),
		device: displayText(record?.device ?? '', 80),
		...(facts.deviceNotes?.length
			? { deviceNotes: facts.deviceNotes.slice(0, 10).map((note) => displayText(note, 400)) }
			: {}),
		attempt: record?.attempt ?? 1,
		stage: record?.stage ? displayText(record.stage, 40) : null,
		step: record?.step ?? null,
		totalSteps: record?.totalSteps ?? null,
		created: record?.created ?? facts.now,
		updated: record === null ? facts.now : Math.max(record.updated, record.heartbeat),
		now: facts.now,
		stages: [...facts.stages],
		checkpoints: facts.checkpoints.slice(-1000),
		actions: record?.foreign ? ['openFolder'] : [...actionsFor(status), ...mending(record, status)],
	};
}
