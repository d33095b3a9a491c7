import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import * as v from 'valibot';
import { parseBoundedJson } from '../../../../base/boundedJson.ts';
import { Failure } from '../../../../base/failure.ts';
import { Random } from '../../../../base/random.ts';
import { promptKey } from '../../../../core/dataset/datasetRows.ts';
import { isHeldOut } from '../../../../core/dataset/split.ts';
import type { ResolvedHeadStage, ResolvedRecipe } from '../../../../core/recipe/resolvedRecipe.ts';
import type { Tokenizer } from '../../../../core/text/tokenizer.ts';
import { decode } from '../../../../protocol/decode.ts';
import { readDataFile } from '../../../../runs/openDataset.ts';
import type { LabeledRow } from './labeledRow.ts';

const lineSchema = v.object({
	prompt: v.string(),
	completions: v.pipe(v.array(v.string()), v.minLength(1)),
	labels: v.array(v.union([v.boolean(), v.pipe(v.number(), v.minValue(0), v.maxValue(1))])),
});
type LabelLine = v.InferOutput<typeof lineSchema>;

/** Lines from a step label file, before the vocabulary is known. */
export interface LabelText {
	readonly name: string;
	readonly lines: readonly LabelLine[];
}

export interface LabelTexts {
	/** Labels by index of the stage that uses them. */
	readonly byStage: ReadonlyMap<number, LabelText>;
	/** SHA-256 of the files, or null if the recipe does not use any. */
	readonly hash: string | null;
}

/**
 * Reads the step label files named in a recipe. Throws `missing` or `invalid` (with file and line) before any work is
 * done.
 */
export async function openLabelFiles({ stages }: ResolvedRecipe): Promise<LabelTexts> {
	const byStage = new Map<number, LabelText>();
	const hash = createHash('sha256');
	for (const [index, stage] of stages.entries()) {
		if (!('labels' in stage) || stage.labels === null) continue;
		const { path } = stage.labels;
		const text = await readDataFile(path);
		hash.update(text).update('\0');
		byStage.set(index, { name: path, lines: parseLabels(text, path) });
	}
	return { byStage, hash: byStage.size === 0 ? null : hash.digest('hex') };
}

function parseLabels(text: string, path: string): LabelLine[] {
	const lines: LabelLine[] = [];
	for (const [i, line] of text.split('\n').entries()) {
		if (line.trim() === '') continue;
		const fault = (what: string): Failure =>
			new Failure(
				'invalid',
				`${path}, line ${i + 1}: ${what}.`,
				'Each line must have the format {"prompt", "completions": [steps], "labels": [true, false or 0 to 1]}.',
			);
		let value: unknown;
		try {
			value = parseBoundedJson(line);
		} catch {
			throw fault('not valid JSON');
		}
		const decoded = decode(lineSchema, value);
		if (!decoded.ok) throw fault(`${decoded.faults[0]?.path ?? ''} ${decoded.faults[0]?.message ?? ''}`.trim());
		const { completions, labels } = decoded.value;
		if (labels.length !== completions.length) {
			throw fault(`${labels.length} labels for ${completions.length} steps`);
		}
		lines.push(decoded.value);
	}
	if (lines.length === 0) throw new Failure('invalid', `${path} has no labeled steps.`);
	return lines;
}

/**
 * Tokenized solutions with labeled steps. Skips those that exceed the context or contain symbols missing from the
 * vocabulary. Rows are shuffled for each epoch, and the rows in an update depend only on the update number.
 */
export class LabeledSteps {
	readonly training: readonly LabeledRow[];
	/** Rows held out to evaluate the head. */
	readonly heldOut: readonly LabeledRow[];
	readonly leftOut: number;
	readonly #seed: number;
	#epoch = -1;
	#order: number[] = [];

	constructor(
		{ name, lines }: LabelText,
		labels: NonNullable<ResolvedHeadStage['labels']>,
		tokenizer: Tokenizer,
		context: number,
		seed: number,
	) {
		const training: LabeledRow[] = [];
		const heldOut: LabeledRow[] = [];
		this.#seed = seed;
		for (const line of lines) {
			const row = rowOf(line, labels.separator, tokenizer, context);
			if (row === null) continue;
			(isHeldOut(promptKey(line.prompt), labels.heldOutShare) ? heldOut : training).push(row);
		}
		this.leftOut = lines.length - training.length - heldOut.length;
		this.training = training;
		this.heldOut = heldOut;
		if (training.length === 0) {
			throw new Failure(
				'invalid',
				`${basename(name)} has no usable solutions: ${this.leftOut} of ${lines.length} do not fit the model's context or vocabulary.`,
				'Use labeled solutions that only contain characters from the dataset, or increase "context".',
			);
		}
	}

	/** Returns the rows for an update, given its number within the stage. */
	batch(update: number, size: number): LabeledRow[] {
		return Array.from({ length: size }, (_, i) => this.#at(update * size + i));
	}

	#at(index: number): LabeledRow {
		const epoch = Math.floor(index / this.training.length);
		if (epoch !== this.#epoch) {
			this.#epoch = epoch;
			this.#order = Random.of(this.#seed, 'labels', epoch).shuffle(this.training.map((_, i) => i));
		}
		return this.training[this.#order[index % this.training.length] as number] as LabeledRow;
	}
}

function rowOf(line: LabelLine, separator: string, tokenizer: Tokenizer, context: number): LabeledRow | null {
	const text = line.completions.join(separator);
	if (tokenizer.unknownIn(line.prompt + text) !== null) return null;
	const prompt = tokenizer.encodePrompt(line.prompt);
	const tokens = [...prompt, ...tokenizer.encode(text)];
	if (tokens.length > context) return null;
	let before = '';
	const labels = line.completions.map((step, i): readonly [number, number] => {
		// As in search, a step separator belongs to the preceding step.
		before += i < line.completions.length - 1 ? step + separator : step;
		return [tokenizer.encode(before).length, Number(line.labels[i])];
	});
	return { tokens, promptLength: prompt.length, labels, whole: labels.length - 1 };
}
