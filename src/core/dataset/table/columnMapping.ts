import type { PresetName } from '../../../protocol/recipeKeys/recipe.ts';
import { findBoxed } from '../../math/statedAnswer.ts';
import { columnCell } from '../columnCell.ts';
import type { DatasetColumns } from '../datasetRows.ts';
import type { TableColumn } from './tableColumns.ts';
import type { RowValue } from './tableRow.ts';
import { sampledColumns, usualColumns } from './usualColumns.ts';

/** Maps each role to its column, or to null if it has none. */
export interface ColumnMapping {
	readonly prompt: string | null;
	readonly answer: string | null;
	readonly solution: string | null;
	/** How to interpret rows, or null if columns are used as is. */
	readonly preset: PresetName | null;
}

/** A mapping with explanations of how it was inferred. */
export interface GuessedMapping extends ColumnMapping {
	readonly because: readonly string[];
}

/** Columns that identify rollout rows. The completion in such a row is not a gold answer. */
const scored = ['reward', 'rewards', 'advantage', 'correct'];

/** A marker determines how a column is read only if at least this fraction of the sampled values contains it. */
const marked = 0.8;

/**
 * Infers the prompt, answer, and solution columns from column names and sample rows.
 * @param byLength whether to use the column with the longest text as the prompt if no name matches
 */
export function guessMapping(
	columns: readonly TableColumn[],
	sample: readonly RowValue[],
	byLength = true,
): GuessedMapping {
	const because: string[] = [];
	const has = (name: string) => columns.some((column) => column.name === name);
	const isRollouts = has('completion') && scored.some(has);
	const byName = (role: keyof typeof usualColumns, taken: readonly (string | null)[]): string | null => {
		for (const wanted of usualColumns[role]) {
			if (isRollouts && role !== 'prompt' && (sampledColumns as readonly string[]).includes(wanted)) continue;
			const found = columns.find(({ name }) => name.toLowerCase() === wanted && !taken.includes(name));
			if (found !== undefined) {
				because.push(`${role}: the column is named "${found.name}"`);
				return found.name;
			}
		}
		// Also search nested fields, such as those in verl's "reward_model".
		for (const wanted of usualColumns[role]) {
			const outer = columns.find(({ name, type }) => type === 'object' && filled(`${name}.${wanted}`));
			if (outer === undefined || role === 'prompt' || isRollouts) continue;
			const name = `${outer.name}.${wanted}`;
			because.push(`${role}: "${outer.name}" contains a "${wanted}"`);
			return name;
		}
		return null;
	};
	const filled = (name: string): boolean =>
		sample.length > 0 && sample.every((row) => columnCell(row, name) !== undefined);
	const share = (name: string, fits: (text: string) => boolean): number => {
		const texts = sample.map((row) => columnCell(row, name)).filter((value) => typeof value === 'string');
		return texts.length === 0 ? 0 : texts.filter(fits).length / texts.length;
	};
	const nums = columns.find(({ name, type }) => name === 'nums' && type === 'list');
	if (nums !== undefined && has('target')) {
		return {
			prompt: 'nums',
			answer: 'target',
			solution: null,
			preset: 'countdown',
			because: ['the columns "nums" and "target" match Countdown'],
		};
	}
	let prompt = byName('prompt', []);
	if (prompt === null && byLength) {
		const longest = columns.filter(({ type }) => type === 'text').toSorted((a, b) => b.length - a.length)[0];
		if (longest !== undefined) {
			prompt = longest.name;
			because.push(`prompt: "${longest.name}" contains the longest text`);
		}
	}
	const answer = byName('answer', [prompt]);
	const solution = byName('solution', [prompt, answer]);
	if (answer !== null && share(answer, (text) => /####\s*\S/.test(text)) >= marked) {
		because.push(`answer: follows "####" in "${answer}"`);
		return { prompt, answer, solution: answer, preset: 'gsm8k', because };
	}
	const boxed = [answer, solution].find(
		(name) => name !== null && share(name, (text) => findBoxed(text).length > 0) >= marked,
	);
	// Prefer an answer column over one whose answers would have to be extracted.
	if (boxed !== undefined && boxed !== null && (answer === null || boxed === answer)) {
		because.push(`answer: inside \\boxed{} in "${boxed}"`);
		return { prompt, answer: boxed, solution: boxed, preset: 'math', because };
	}
	return { prompt, answer, solution, preset: null, because };
}

/** Columns chosen by the user; the others are inferred. */
export type NamedColumns = { readonly [Role in 'prompt' | 'answer' | 'solution']?: string | undefined };

/**
 * Applies the columns chosen by the user. The interpretation depends on the inferred answer column, so it is discarded
 * if the user chooses a different one.
 */
export function withNamed(guessed: ColumnMapping, { prompt, answer, solution }: NamedColumns): ColumnMapping {
	const own = answer !== undefined && answer !== guessed.answer;
	return {
		prompt: prompt ?? guessed.prompt,
		answer: answer ?? guessed.answer,
		solution: solution ?? (own && guessed.solution === guessed.answer ? null : guessed.solution),
		preset: own || solution !== undefined ? null : guessed.preset,
	};
}

/** Returns the columns for reading recipe dataset rows. Roles without a column get their usual names. */
export function datasetColumns({ prompt, answer, solution, preset }: ColumnMapping): DatasetColumns {
	return {
		prompt: prompt ?? 'prompt',
		answer: answer ?? 'answer',
		solution: solution ?? 'solution',
		...(preset === null ? {} : { preset }),
	};
}
