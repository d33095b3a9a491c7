import { Failure } from '../../base/failure.ts';
import { specialTokens } from '../text/tokenizer.ts';
import { promptKey } from './datasetRows.ts';
import { isHeldOut } from './split.ts';

/** A text corpus, split into training and held-out examples. */
export interface Corpus {
	readonly training: readonly string[];
	readonly heldOut: readonly string[];
}

export interface CorpusSettings {
	/** Path of the file. `.txt` files have one example per line; all other files are read as JSONL. */
	readonly path: string;
	/** Column name in JSONL files. */
	readonly text: string;
	/** Fraction of examples that are held out, selected by hash. */
	readonly heldOutShare: number;
}

/**
 * Parses a corpus file, skipping blank lines. Identical examples always end up on the same side of the split. Throws
 * `invalid` at the first invalid line, or if no training examples are left.
 */
export function parseCorpus(content: string, { path, text: column, heldOutShare }: CorpusSettings): Corpus {
	const plain = /\.txt$/i.test(path);
	const training: string[] = [];
	const heldOut: string[] = [];
	for (const [i, written] of content.split('\n').entries()) {
		const line = i === 0 && written.startsWith('\uFEFF') ? written.slice(1) : written;
		if (line.trim() === '') continue;
		const fault = (what: string, action: string) => new Failure('invalid', `${path}, line ${i + 1}, ${what}.`, action);
		const text = plain ? line.replace(/\r$/, '') : textOf(line, column, fault);
		if (text.trim() === '') continue;
		const reserved = specialTokens.find((token) => text.includes(token));
		if (reserved) throw fault(`contains the reserved symbol ${reserved}`, 'Remove it from the text.');
		(isHeldOut(promptKey(text), heldOutShare) ? heldOut : training).push(text);
	}
	if (training.length === 0) {
		throw new Failure(
			'invalid',
			heldOut.length === 0
				? `${path} contains no text.`
				: `${path} leaves nothing to train on: every example is held out.`,
			plain ? 'Write one example per line.' : `Write one JSON object per line with a "${column}" field.`,
		);
	}
	return { training, heldOut };
}

function textOf(line: string, column: string, fault: (what: string, action: string) => Failure): string {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch {
		throw fault('is not JSON', 'Write one JSON object per line, or use the .txt extension.');
	}
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw fault('is not a JSON object', 'Write one JSON object per line, or use the .txt extension.');
	}
	const text = (value as Record<string, unknown>)[column];
	if (typeof text === 'string') return text;
	const what = Object.hasOwn(value, column) ? `has a "${column}" that is not a string` : `has no column "${column}"`;
	throw fault(what, 'Set "text" in the stage corpus to the name of the column.');
}
