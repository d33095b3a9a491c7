import { type Box, boxFrom, hasArea, maxBoxes } from './box.ts';

/** Maximum length of an answer to search for boxes, in characters. */
const longest = 20_000;

const cornerKeys = ['Position', 'position', 'bbox_2d', 'bbox', 'box'] as const;
const confidenceKeys = ['Confidence', 'confidence', 'score'] as const;
const labelKeys = ['Label', 'label', 'category'] as const;

const fenced = /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i;
const nothing = /^(?:no objects?|none|\[\s*\])\.?$/i;
const tagged = /^<answer>([\s\S]*)<\/answer>$/;

/**
 * Returns the boxes in an answer, in order; an empty list if the answer says that there are none, and null if any part
 * of it is not a box. Reads these formats:
 * - Visual-RFT: `[{'Position': [x1, y1, x2, y2], 'Confidence': 0.9}]`, with single or double quotes, and `No Objects`
 * - Qwen2.5-VL: `[{"bbox_2d": [x1, y1, x2, y2], "label": "dog"}]`, possibly in a Markdown fence
 * - Qwen2-VL: `dog(x1,y1),(x2,y2)`, with or without its special tokens
 * - `[x1, y1, x2, y2]`, or a list of these
 */
export function parseBoxes(text: string): Box[] | null {
	if (text.length > longest) return null;
	const trimmed = text.trim();
	const bare = (tagged.exec(trimmed)?.[1] ?? fenced.exec(trimmed)?.[1] ?? trimmed).trim();
	if (nothing.test(bare)) return [];
	const value = jsonIn(bare);
	return value === undefined ? boxesInPairs(bare) : boxesIn(value);
}

/** Returns the boxes in a dataset value: text in any of the formats, or the same structure already decoded. */
export function goldBoxes(value: unknown): Box[] | null {
	const boxes = typeof value === 'string' ? parseBoxes(value) : boxesIn(value);
	// A gold box without an area could never be matched.
	return boxes?.every(hasArea) ? boxes : null;
}

/** Returns the JSON value in text that may use Python-style quotes; undefined if there is none. */
function jsonIn(text: string): unknown {
	if (!/^[[{]/.test(text)) return undefined;
	for (const candidate of [text, text.replaceAll("'", '"')]) {
		try {
			return JSON.parse(candidate);
		} catch {}
	}
	return undefined;
}

/** Returns the boxes in a decoded value: one box, a list of boxes, or a list nested in a list. */
function boxesIn(value: unknown): Box[] | null {
	if (typeof value !== 'object' || value === null) return null;
	const inner = Array.isArray(value) && value.length === 1 && isListOfObjects(value[0]) ? value[0] : value;
	const items: readonly unknown[] = Array.isArray(inner) && !isCorners(inner) ? inner : [inner];
	if (items.length > maxBoxes) return null;
	const boxes = items.map(boxIn);
	return boxes.includes(null) ? null : (boxes as Box[]);
}

const isCorners = (value: unknown): value is readonly unknown[] => Array.isArray(value) && typeof value[0] === 'number';
const isListOfObjects = (value: unknown): value is readonly unknown[] =>
	Array.isArray(value) && value.length > 0 && typeof value[0] === 'object';

function boxIn(item: unknown): Box | null {
	if (Array.isArray(item)) return boxFrom(item);
	if (typeof item !== 'object' || item === null) return null;
	const named = (keys: readonly string[]): unknown => {
		const key = keys.find((name) => Object.hasOwn(item, name));
		return key === undefined ? undefined : (item as Record<string, unknown>)[key];
	};
	return boxFrom(named(cornerKeys), named(confidenceKeys), named(labelKeys));
}

const number = String.raw`\s*(-?\d{1,7}(?:\.\d{1,9})?)\s*`;
const pair = String.raw`\(${number},${number}\)`;
/** Matches one box in the format of Qwen2-VL, whose special tokens are usually removed when a completion is decoded. */
const pairs = new RegExp(
	String.raw`(?:<\|object_ref_start\|>)?([^()<>|,;]{0,100})(?:<\|object_ref_end\|>)?\s*(?:<\|box_start\|>)?${pair}\s*,\s*${pair}(?:<\|box_end\|>)?[\s,;.]*`,
	'y',
);

function boxesInPairs(text: string): Box[] | null {
	const boxes: Box[] = [];
	for (pairs.lastIndex = 0; pairs.lastIndex < text.length; ) {
		const match = pairs.exec(text);
		if (match === null || boxes.length === maxBoxes) return null;
		const [, label, ...corners] = match;
		const box = boxFrom(corners.map(Number), undefined, label);
		if (box === null) return null;
		boxes.push(box);
	}
	return boxes.length === 0 ? null : boxes;
}
