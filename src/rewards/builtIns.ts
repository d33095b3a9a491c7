import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { suggest } from '../core/recipe/suggest.ts';
import { certaintyReward } from '../core/reward/certaintyReward.ts';
import { classificationReward } from '../core/reward/classificationReward.ts';
import { cosineLengthReward } from '../core/reward/cosineLengthReward.ts';
import { environmentReward } from '../core/reward/environmentReward.ts';
import { exactMatchReward } from '../core/reward/exactMatchReward.ts';
import { formatOf } from '../core/reward/formatReward.ts';
import { iouReward } from '../core/reward/iouReward.ts';
import { jsonSchemaReward } from '../core/reward/jsonSchemaReward.ts';
import { languageConsistencyReward } from '../core/reward/languageConsistencyReward.ts';
import { lengthTargetReward } from '../core/reward/lengthTargetReward.ts';
import { majorityRewards } from '../core/reward/majorityReward.ts';
import { multipleChoiceReward } from '../core/reward/multipleChoiceReward.ts';
import { reflectionReward } from '../core/reward/reflectionReward.ts';
import { repetitionReward } from '../core/reward/repetitionReward.ts';
import type { RewardSample } from '../core/reward/rewardSample.ts';
import { selfCertaintyReward } from '../core/reward/selfCertaintyReward.ts';
import { softOverlongReward } from '../core/reward/softOverlongReward.ts';
import { tagCountReward } from '../core/reward/tagCountReward.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import {
	type BuiltInRewardSpec,
	builtInRewardNames,
	builtInRewardSchema,
	type ResolvedBuiltIn,
	type RewardEntry,
	withAbsolutePaths,
} from '../protocol/recipeKeys/builtInRewards.ts';
import type { RewardContext } from '../protocol/rewardHost.ts';
import type { BuiltIn } from './builtInReward.ts';

export type { RewardSample };

/** An entry in a recipe's `rewards` that uses a built-in reward: its name and its options. */
export type BuiltInEntry = { readonly use: string; readonly name: string; readonly [option: string]: unknown };

/** Validates an entry, fills in default options, and resolves paths relative to the context's folder. */
function decodeEntry(entry: BuiltInEntry, folder: string): ResolvedBuiltIn {
	if (!builtInRewardNames.some((name) => name === entry.use)) {
		const near = suggest(entry.use, builtInRewardNames);
		throw new Failure(
			'invalid',
			`Unknown built-in reward "${entry.use.slice(0, 80)}".`,
			near === null ? `Choose one of ${builtInRewardNames.join(', ')}.` : `Did you mean "${near}"?`,
		);
	}
	const spec: BuiltInRewardSpec = decodeOrThrow(builtInRewardSchema, entry, `Reward "${entry.name}"`);
	return withAbsolutePaths({ ...spec, name: entry.name, weight: spec.weight ?? 1 }, (path) => resolve(folder, path));
}

/**
 * Creates the built-in reward specified by a recipe entry. Dependencies of a single reward (a JSON Schema validator, an
 * ONNX runtime, an HTTP client) are loaded only when that reward is created, so the others start immediately.
 *
 * Fails with `invalid` for an unknown name or option, and with `missing` or `unavailable` if a model cannot be loaded.
 */
export async function createBuiltIn(given: BuiltInEntry, context: RewardContext): Promise<BuiltIn> {
	const entry = decodeEntry(given, context.folder);
	const { tags } = context;
	switch (entry.use) {
		case 'accuracy':
			return { score: await createAccuracy(context) };
		case 'format':
			return { score: (sample) => formatOf(sample, sample.trace, tags) };
		case 'exact-match':
			return { score: (sample) => exactMatchReward(sample, entry, tags) };
		case 'multiple-choice':
			return { score: (sample) => multipleChoiceReward(sample, entry, tags) };
		case 'iou':
			return { score: (sample) => iouReward(sample, entry, tags) };
		case 'classification':
			return { score: (sample) => classificationReward(sample, entry, tags) };
		case 'tag-count':
			return { score: (sample) => tagCountReward(sample, tags) };
		case 'language-consistency':
			return { score: (sample) => languageConsistencyReward(sample, entry, tags) };
		case 'soft-overlong':
			return { score: (sample) => softOverlongReward(sample, entry, tags) };
		case 'length-target': {
			const accuracy = entry.mode === 'max' ? await createAccuracy(context) : () => null;
			return { score: (sample) => lengthTargetReward(sample, entry, tags, accuracy(sample)) };
		}
		case 'cosine-length': {
			const accuracy = await createAccuracy(context);
			return { score: (sample) => cosineLengthReward(sample, entry, tags, accuracy(sample)) };
		}
		case 'majority':
			return { score: () => null, scoreAll: async (samples) => majorityRewards(samples, tags) };
		case 'certainty':
			return { score: certaintyReward };
		case 'self-certainty':
			return { score: selfCertaintyReward };
		case 'self-judge':
			// Only the engine can ask the policy.
			return { score: () => null };
		case 'learnability':
			// Only the engine knows which attempts belong to a proposal.
			return { score: () => null };
		case 'environment':
			return { score: environmentReward };
		case 'repetition':
			return { score: (sample) => repetitionReward(sample, entry, tags) };
		case 'reflection':
			return { score: (sample) => reflectionReward(sample, entry, tags) };
		case 'json-schema': {
			const { JsonSchemas } = await import('./builtIn/jsonSchemas.ts');
			const schemas = new JsonSchemas();
			if (entry.schema !== undefined) schemas.check(entry.schema);
			return { score: (sample) => jsonSchemaReward(sample, entry, tags, schemas.accepts) };
		}
		case 'code-tests': {
			const { createCodeTests } = await import('./codeTests.ts');
			return createCodeTests(entry);
		}
		case 'judge':
			return createJudge(entry, context);
		case 'process':
			return createProcess(entry, context);
		case 'reward-model': {
			const { RewardModel } = await import('./builtIn/rewardModel.ts');
			return RewardModel.open(entry, context.prompt);
		}
	}
}

async function createAccuracy(context: RewardContext): Promise<(sample: RewardSample) => number | null> {
	const { createAccuracy } = await import('./builtIn/accuracy.ts');
	return createAccuracy(context);
}

async function createJudge(entry: RewardEntry<'judge'>, { tags }: RewardContext): Promise<BuiltIn> {
	const [{ Judge }, { JudgeCache }, { JsonServer }, { apiKeysOf }] = await Promise.all([
		import('./builtIn/judge.ts'),
		import('./builtIn/judgeCache.ts'),
		import('./builtIn/jsonServer.ts'),
		import('../rpc/http/apiKeys.ts'),
	]);
	const server = new JsonServer({ ...entry, keys: apiKeysOf(process.env) });
	const cache = await JudgeCache.open(entry.cache ?? null);
	// Console output goes to the reward's log.
	return new Judge(entry, tags, server, cache, (line) => console.log(line));
}

async function createProcess(entry: RewardEntry<'process'>, { tags }: RewardContext): Promise<BuiltIn> {
	const { createProcessReward } = await import('./builtIn/stepReward.ts');
	return createProcessReward(entry, tags);
}
