import type { PresetName } from '../../../protocol/recipe.ts';
import { findBoxed } from '../../math/statedAnswer.ts';
import { columnCell } from '../columnCell.ts';
import type { DatasetColumns } from '../datasetRows.ts';
import type { TableColumn } from './tableColumns.ts';
import type { RowValue } from './tableRow.ts';
import { sampledColumns, usualColumns } from './usualColumns.ts';

/** Which column contains what; null: none. */
export interface ColumnMapping {
	readonly prompt: string | null;
	readonly answer: string | null;
	readonly solution: string | null;
	/** How rows are interpreted, if columns are not used as they are. */
	readonly preset: PresetName | null;
}

/** A mapping with sentences that explain how it was inferred. */
export interface GuessedMapping extends ColumnMapping {
	readonly because: readonly string[];
}

/** Columns that mark a row as a rollout, whose completion is not a gold answer. */
const scored = ['reward', 'rewards', 'advantage', 'correct'];

/** Min share of sampled values with a marker for the column to be interpreted by it. */
const marked = 0.8;

/**
 * Infers which columns contain prompt, answer and solution, from their names and from sample rows.
 * @param byLength whether the column with the longest texts is the prompt if no name matches
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
		// Inside objects, such as verl's "reward_model".
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
			because.push(`prompt: "${longest.name}" contains the longest texts`);
		}
	}
	const answer = byName('answer', [prompt]);
	const solution = byName('solution', [prompt, answer]);
	if (answer !== null && share(answer, (text) => /####\s*\S/.test(text)) >= marked) {
		because.push(`answer: it follows "####" in "${answer}"`);
		return { prompt, answer, solution: answer, preset: 'gsm8k', because };
	}
	const boxed = [answer, solution].find(
		(name) => name !== null && share(name, (text) => findBoxed(text).length > 0) >= marked,
	);
	// An answer column is preferred to a column to extract answers from.
	if (boxed !== undefined && boxed !== null && (answer === null || boxed === answer)) {
		because.push(`answer: inside \\boxed{} in "${boxed}"`);
		return { prompt, answer: boxed, solution: boxed, preset: 'math', because };
	}
	return { prompt, answer, solution, preset: null, because };
}

/** Columns chosen by the user; the rest is inferred. */
export type NamedColumns = { readonly [Role in 'prompt' | 'answer' | 'solution']?: string | undefined };

/** The interpretation depends on the inferred answer column; it does not apply to another column. */
export function withNamed(guessed: ColumnMapping, { prompt, answer, solution }: NamedColumns): ColumnMapping {
	const own = answer !== undefined && answer !== guessed.answer;
	return {
		prompt: prompt ?? guessed.prompt,
		answer: answer ?? guessed.answer,
		solution: solution ?? (own && guessed.solution === guessed.answer ? null : guessed.solution),
		preset: own || solution !== undefined ? null : guessed.preset,
	};
}

/** As used to read the rows of a recipe dataset; roles without a column get their usual names. */
export function datasetColumns({ prompt, answer, solution, preset }: ColumnMapping): DatasetColumns {
	return {
		prompt: prompt ?? 'prompt',
		answer: answer ?? 'answer',
		solution: solution ?? 'solution',
		...(preset === null ? {} : { preset }),
	};
}
