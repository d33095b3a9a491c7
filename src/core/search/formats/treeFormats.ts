import { llmReasonersFormat } from './llmReasoners.ts';
import { mathBlackBoxFormat } from './mathBlackBox.ts';
import { openrFormat } from './openr.ts';
import type { TreeFormat } from './treeFormat.ts';
import { treeOfThoughtsFormat } from './treeOfThoughts.ts';
import { x1Format } from './x1.ts';

/** Supported tree log formats from other programs; the first one that recognizes a value is used. */
export const treeFormats: readonly TreeFormat[] = [
	llmReasonersFormat,
	x1Format,
	openrFormat,
	treeOfThoughtsFormat,
	mathBlackBoxFormat,
];

export const findTreeFormat = (value: unknown): TreeFormat | null =>
	treeFormats.find((format) => format.recognize(value)) ?? null;
