import * as v from 'valibot';
import { parseBoundedJson } from '../../../../base/boundedJson.ts';
import { Failure } from '../../../../base/failure.ts';
import type { ResolvedDistillStage } from '../../../../core/recipe/resolvedRecipe.ts';
import { renderPrompt } from '../../../../core/text/template.ts';
import { decode } from '../../../../protocol/decode.ts';
import { scoreBatch } from '../../../shared/scoreBatch.ts';
import type { StageHost } from '../stageHost.ts';
import type { CompletionTexts } from './completionTexts.ts';

const acceptedSchema = v.object({
	/** Number of rows scored. */
	rows: v.number(),
	/** Indexes of accepted rows. */
	accepted: v.array(v.pipe(v.number(), v.integer(), v.minValue(0))),
});

/** Number of completions scored per batch. */
const judgedAtOnce = 512;

/**
 * Drops completions with a reward below `minReward` (rejection sampling, Yuan et al. 2023, section 3.3). Completions
 * are scored once, when the stage starts. The result is stored in the run folder, because rewards could change later
 * and a resumed run must use the same rows.
 */
export async function rejectRows(host: StageHost, stage: ResolvedDistillStage, texts: CompletionTexts): Promise<void> {
	const { minReward, data } = stage;
	if (minReward === null || data === null) return;
	const name = `accepted_${host.progress.stageIndex}.json`;
	const before = await recall(host, name, texts.rows.length);
	if (before !== null) {
		texts.choose(before);
		return;
	}
	const rewards = await rewardsOf(host, texts);
	const accepted = [...rewards.keys()].filter((place) => (rewards[place] ?? Number.NEGATIVE_INFINITY) >= minReward);
	if (accepted.length === 0) {
		const given = rewards.filter((reward) => reward !== null);
		const best =
			given.length === 0 ? 'there are no rewards' : `the highest is ${given.reduce((a, b) => Math.max(a, b))}`;
		throw new Failure(
			'invalid',
			`${data.path}: no completion has a reward of at least ${minReward} (${best}).`,
			'Lower "minReward", or check how the rewards score these completions.',
		);
	}
	await host.data.write(name, `${JSON.stringify({ rows: rewards.length, accepted })}\n`);
	host.alert(
		'info',
		`Training on ${accepted.length} of ${rewards.length} completions with a reward of at least ${minReward}.`,
	);
	texts.choose(accepted);
}

async function recall(host: StageHost, name: string, rows: number): Promise<readonly number[] | null> {
	const content = await host.data.read(name);
	if (content === null) return null;
	let value: unknown;
	try {
		value = parseBoundedJson(content);
	} catch {
		value = null;
	}
	const decoded = decode(acceptedSchema, value);
	if (decoded.ok && decoded.value.rows === rows) {
		const { accepted } = decoded.value;
		if (accepted.length > 0 && accepted.every((place) => place < rows)) return accepted;
	}
	throw new Failure(
		'corrupt',
		`data/${name} in the run folder does not record which of ${rows} completions were accepted.`,
		'Delete it to score the completions again.',
	);
}

async function rewardsOf(host: StageHost, texts: CompletionTexts): Promise<(number | null)[]> {
	const { rewards, template } = host.parts;
	const judged: (number | null)[] = [];
	for (let start = 0; start < texts.rows.length; start += judgedAtOnce) {
		const rows = texts.rows.slice(start, start + judgedAtOnce).map(({ prompt, completion, answer, row }) => ({
			prompt: renderPrompt(template, prompt),
			completion,
			answer,
			row,
			truncated: false,
		}));
		const scored = await host.watch.measure('reward', () =>
			scoreBatch(rewards.scorers, rows, { step: host.progress.step, signal: host.interrupt }),
		);
		for (const [column, lines] of scored.output) host.noteOutput(column, lines);
		for (const failure of scored.failures) host.noteFailures(failure);
		for (const { reward } of scored.rows) judged.push(reward);
	}
	return judged;
}
