import { basename } from 'node:path';
import { Failure } from '../../../../base/failure.ts';
import type { Problem } from '../../../../core/dataset/problem.ts';
import type { ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import { renderPrompt } from '../../../../core/text/template.ts';
import { exportRewardFile } from '../../../../rewards/exportRewardFile.ts';
import { rewardHostFolder } from '../../../../rewards/rewardHostFolder.ts';
import { findRewardPrograms } from '../../../../rewards/rewardPrograms.ts';
import { openDataset } from '../../../../runs/openDataset.ts';
import { rewardCopyPath } from '../../../../runs/rewardCopies.ts';
import type { ZipEntry } from '../zipArchive.ts';
import { type VerlFacts, verlArguments, verlSettings } from './verlOverrides.ts';

/** Maximum number of training rows sent with the job. verl iterates over them in epochs. */
const maxRows = 200_000;
/** Lower bound for the prompt length setting. Equal to verl's default. */
const minPromptLength = 512;

export interface VerlPayload {
	readonly entries: ZipEntry[];
	/** Notes about settings that verl interprets differently, one sentence each. */
	readonly notes: readonly string[];
}

/**
 * Builds the inputs that a verl job needs in addition to the run: settings, rewards and rows. Throws `unsupported` for
 * features that verl lacks.
 * @param placed recipe with file paths on the cluster
 */
export async function verlPayload(
	run: string,
	recipe: ResolvedRecipe,
	placed: ResolvedRecipe,
	facts: Pick<VerlFacts, 'id' | 'submission'>,
): Promise<VerlPayload> {
	// Check for unsupported features first.
	verlSettings(recipe, { ...facts, promptLength: minPromptLength });
	const rewards = await rewardModules(run, recipe);
	const { source } = await openDataset(recipe.dataset);
	const stage = recipe.stages[0] as { readonly steps: number; readonly prompts_per_step: number };
	const wanted = Math.min(maxRows, stage.steps * stage.prompts_per_step);
	const training: Problem[] = [];
	for (let i = 0; i < wanted; i++) training.push(source.training(recipe.seed, i));
	const rows = (problems: readonly Problem[], split: string) =>
		problems.map((problem, index) => JSON.stringify(verlRow(recipe, problem, split, index))).join('\n');
	const held = source.heldOut(recipe.evaluate.problems);
	// Upper bound: each token is at least one byte long, and the chat template adds a few tokens.
	const longest = [...training, ...held].reduce(
		(max, { prompt }) => Math.max(max, Buffer.byteLength(renderPrompt(recipe.template, prompt)) + 64),
		minPromptLength,
	);
	const settings = verlSettings(placed, { ...facts, promptLength: longest });
	const entry = (path: string, text: string): ZipEntry => ({ path, bytes: Buffer.from(text, 'utf8') });
	const chat = recipe.template.chat === true;
	return {
		entries: [
			entry('payload/arguments.json', JSON.stringify(verlArguments(settings, recipe.ray?.verl ?? {}), null, '\t')),
			entry('payload/train.jsonl', `${rows(training, 'train')}\n`),
			entry('payload/validation.jsonl', `${rows(held, 'validation')}\n`),
			...rewards.modules.map(({ path, text }) => entry(path, text)),
		],
		notes: [
			...rewards.notes,
			...(chat ? [] : ['verl applies the model’s chat template to each prompt, as a user message.']),
		],
	};
}

/** Formats a row like verl's datasets: examples/data_preprocess/gsm8k.py. */
function verlRow(recipe: ResolvedRecipe, { prompt, answer, row }: Problem, split: string, index: number): object {
	const { template } = recipe;
	const user = { role: 'user', content: renderPrompt(template, prompt) };
	return {
		data_source: 'reasoning-lab',
		prompt: template.system === undefined ? [user] : [{ role: 'system', content: template.system }, user],
		reward_model: { style: 'rule', ground_truth: typeof answer === 'string' ? answer : JSON.stringify(answer ?? null) },
		extra_info: { ...(row as object), split, index, question: prompt },
	};
}

async function rewardModules(
	run: string,
	recipe: ResolvedRecipe,
): Promise<{ modules: { path: string; text: string }[]; notes: string[] }> {
	const modules: { path: string; text: string }[] = [];
	const notes: string[] = [];
	const programs = await findRewardPrograms({ python: process.env.REASONING_LAB_PYTHON ?? null });
	for (const [i, reward] of recipe.rewards.entries()) {
		if ('use' in reward) {
			throw new Failure(
				'unsupported',
				`verl computes rewards in Python, and the built-in reward "${reward.use}" is not available in Python.`,
				'Use Python reward files in "rewards", or train with the payload "trl".',
			);
		}
		const file = rewardCopyPath(run, recipe, reward.file);
		const adapter = await exportRewardFile({
			file,
			target: 'verl',
			python: programs.python,
			folder: rewardHostFolder(),
			...(reward.name === null ? {} : { names: [reward.name] }),
			...(reward.name === null || reward.weight === null ? {} : { weights: { [reward.name]: reward.weight } }),
		});
		modules.push({ path: `payload/rewards_${i}.py`, text: adapter.text });
		for (const { severity, message, action } of adapter.findings) {
			if (severity === 'error') throw new Failure('unsupported', `${basename(reward.file)}: ${message}`, action);
			notes.push(`${basename(reward.file)}: ${message}`);
		}
	}
	modules.push({ path: 'payload/verl_rewards.py', text: combined(modules.length) });
	return { modules, notes };
}

/**
 * Combines all adapters into the single function that verl calls. Scores are added, because each already includes its
 * weight.
 */
function combined(count: number): string {
	return `import importlib.util
import pathlib


def _load(name):
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.compute_score


_SCORES = [_load(f"rewards_{i}") for i in range(${count})]


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    result = {"score": 0.0}
    for score in _SCORES:
        one = score(data_source, solution_str, ground_truth, extra_info)
        total = one.pop("score")
        result = {**result, **one, "score": result["score"] + total}
    return result
`;
}
