import { Failure } from '../../base/failure.ts';
import { promptKey } from '../dataset/datasetRows.ts';
import { isHeldOut } from '../dataset/split.ts';

/** A prompt in the form the policy sees it, with a better and a worse completion. */
export interface PairText {
	readonly prompt: string;
	readonly chosen: string;
	readonly rejected: string;
}

export interface PairColumns {
	readonly prompt: string;
	readonly chosen: string;
	readonly rejected: string;
	/** Fraction of prompts held out, by hash. */
	readonly heldOutShare: number;
}

export interface PairTexts {
	readonly training: readonly PairText[];
	readonly heldOut: readonly PairText[];
	/** Number of pairs with identical completions, which have no gradient. */
	readonly same: number;
}

/**
 * Parses preference pairs from JSONL. In a file without a prompt column, each side of a pair is a complete text, and
 * only a reward model can use the pairs (`prompted` is false). In that case, the split is based on the chosen text.
 * @throws `invalid`, naming the line
 */
export function parsePairs(text: string, name: string, columns: PairColumns, prompted: boolean): PairTexts {
	const pairs: PairText[] = [];
	let hasPrompts: boolean | null = null;
	let same = 0;
	for (const [i, line] of text.split('\n').entries()) {
		if (line.trim() === '') continue;
		const fault = (what: string): Failure =>
			new Failure(
				'invalid',
				`${name}, line ${i + 1}: ${what}.`,
				`Each line must contain {"${columns.prompt}", "${columns.chosen}", "${columns.rejected}"} with three strings. If the columns have different names, set them in "pairs".`,
			);
		const row = objectOf(line);
		if (row === null) throw fault('is not a JSON object');
		hasPrompts ??= prompted || Object.hasOwn(row, columns.prompt);
		const said = (column: string): string => {
			const value = Object.hasOwn(row, column) ? row[column] : undefined;
			if (typeof value === 'string') return value;
			throw fault(value === undefined ? `has no column "${column}"` : `"${column}" is not a string`);
		};
		const pair = {
			prompt: hasPrompts ? said(columns.prompt) : '',
			chosen: said(columns.chosen),
			rejected: said(columns.rejected),
		};
		if (pair.chosen === pair.rejected) same++;
		else pairs.push(pair);
	}
	if (pairs.length === 0) {
		const why = same === 0 ? 'contains no pairs' : 'contains no pairs whose completions differ';
		throw new Failure('invalid', `${name} ${why}.`, 'Fix the file, or the column names in "pairs".');
	}
	const isTest = ({ prompt, chosen }: PairText) =>
		isHeldOut(promptKey(hasPrompts === true ? prompt : chosen), columns.heldOutShare);
	const training = pairs.filter((pair) => !isTest(pair));
	const heldOut = pairs.filter(isTest);
	if (training.length === 0) {
		throw new Failure(
			'invalid',
			`${name} leaves no pairs to train on: all ${heldOut.length} are held out.`,
			'Add pairs, or lower "heldOutShare" in "pairs".',
		);
	}
	return { training, heldOut, same };
}

function objectOf(line: string): Readonly<Record<string, unknown>> | null {
	try {
		const value: unknown = JSON.parse(line);
		return typeof value === 'object' && value !== null && !Array.isArray(value)
			? (value as Readonly<Record<string, unknown>>)
			: null;
	} catch {
		return null;
	}
}
