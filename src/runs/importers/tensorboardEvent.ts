import { type Field, fieldsOf, float32, float64, MessageReader, wires } from './protobuf.ts';
import { RepeatedTexts } from './repeatedTexts.ts';

/** One value from a TensorBoard event. Histograms, images and similar values are skipped. */
export type TensorboardValue = {
	readonly step: number;
	/** Seconds since the epoch. */
	readonly time: number;
	readonly tag: string;
} & SummaryValue;

/** A scalar (null if not finite) or text. */
type SummaryValue = { readonly value: number | null } | { readonly text: string };

const decoder = new TextDecoder('utf-8');
const tags = new RepeatedTexts();

/**
 * Returns the values in an event (tensorflow/core/util/event.proto). Fails with an Error whose message is a sentence
 * fragment.
 */
export function tensorboardValues(bytes: Uint8Array, from = 0, to = bytes.length): TensorboardValue[] {
	let time = 0;
	let step = 0;
	const summaries: number[] = [];
	const event = new MessageReader(bytes, from, to);
	while (event.next()) {
		const { number, wire } = event;
		if (number === 1 && wire === wires.fixed64) time = float64(bytes, event.start);
		else if (number === 2 && wire === wires.varint) step = event.value;
		else if (number === 5 && wire === wires.bytes) summaries.push(event.start, event.end);
	}
	// Steps are int64, and a negative one decodes to a number outside the safe integer range.
	if (!Number.isSafeInteger(step)) throw new Error('its step is not a valid step number');
	const values: TensorboardValue[] = [];
	for (let i = 0; i < summaries.length; i += 2) {
		const summary = new MessageReader(bytes, summaries[i] as number, summaries[i + 1] as number);
		while (summary.next()) {
			if (summary.number !== 1 || summary.wire !== wires.bytes) continue;
			const value = summaryValue(bytes, summary, step, Number.isFinite(time) ? time : 0);
			if (value !== null) values.push(value);
		}
	}
	return values;
}

/** Summary.Value: a tag, and either simple_value or a tensor. */
function summaryValue(
	bytes: Uint8Array,
	{ start, end }: MessageReader,
	step: number,
	time: number,
): TensorboardValue | null {
	let tag = '';
	let plugin = '';
	let simple: number | undefined;
	let tensor: number | null | string | undefined;
	const field = new MessageReader(bytes, start, end);
	while (field.next()) {
		const { number, wire } = field;
		if (number === 2 && wire === wires.fixed32) simple = float32(bytes, field.start);
		if (wire !== wires.bytes) continue;
		if (number === 1) tag = tags.text(bytes, field.start, field.end);
		else if (number === 8) tensor = tensorOf(bytes.subarray(field.start, field.end));
		else if (number === 9) plugin = pluginOf(bytes.subarray(field.start, field.end));
	}
	if (simple !== undefined) return { step, time, tag, value: Number.isFinite(simple) ? simple : null };
	if (typeof tensor === 'string') return plugin === 'text' || plugin === '' ? { step, time, tag, text: tensor } : null;
	if (tensor !== undefined && (plugin === 'scalars' || plugin === '')) return { step, time, tag, value: tensor };
	return null;
}

/** SummaryMetadata.plugin_data.plugin_name */
function pluginOf(bytes: Uint8Array): string {
	for (const outer of fieldsOf(bytes)) {
		if (outer.number !== 1 || outer.kind !== 'bytes') continue;
		for (const inner of fieldsOf(outer.value)) {
			if (inner.number === 1 && inner.kind === 'bytes') return decoder.decode(inner.value);
		}
	}
	return '';
}

const dtype = { float: 1, double: 2, string: 7 } as const;

/** TensorProto: strings joined by line breaks, or the first float or double; undefined for other types. */
function tensorOf(bytes: Uint8Array): number | null | string | undefined {
	let type = 0;
	let content: Uint8Array | undefined;
	let number: number | undefined;
	const texts: string[] = [];
	for (const field of fieldsOf(bytes)) {
		if (field.number === 1 && field.kind === 'varint') type = field.value;
		else if (field.number === 4 && field.kind === 'bytes') content = field.value;
		else if (field.number === 5) number ??= firstOf(field, 4);
		else if (field.number === 6) number ??= firstOf(field, 8);
		else if (field.number === 8 && field.kind === 'bytes') texts.push(decoder.decode(field.value));
	}
	if (type === dtype.string) return texts.join('\n');
	if (number === undefined && content !== undefined) {
		if (type === dtype.float && content.length >= 4) number = float32(content);
		if (type === dtype.double && content.length >= 8) number = float64(content);
	}
	if (number === undefined) return undefined;
	return Number.isFinite(number) ? number : null;
}

/** Returns the first element of a repeated numeric field, packed or not. */
function firstOf(field: Field, width: 4 | 8): number | undefined {
	if (field.kind === 'varint' || field.value.length < width) return undefined;
	return width === 4 ? float32(field.value) : float64(field.value);
}
