import { type Field, fieldsOf, float32, float64 } from './protobuf.ts';

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

/**
 * Returns the values in an event (tensorflow/core/util/event.proto). Fails with an Error whose message is a sentence
 * fragment.
 */
export function tensorboardValues(bytes: Uint8Array): TensorboardValue[] {
	let time = 0;
	let step = 0;
	const summaries: Uint8Array[] = [];
	for (const field of fieldsOf(bytes)) {
		if (field.number === 1 && field.kind === 'fixed64') time = float64(field.value);
		else if (field.number === 2 && field.kind === 'varint') step = field.value;
		else if (field.number === 5 && field.kind === 'bytes') summaries.push(field.value);
	}
	// Steps are int64, and a negative one decodes to a number outside the safe integer range.
	if (!Number.isSafeInteger(step)) throw new Error('its step is not a valid step number');
	const values: TensorboardValue[] = [];
	for (const summary of summaries) {
		for (const field of fieldsOf(summary)) {
			if (field.number !== 1 || field.kind !== 'bytes') continue;
			const value = summaryValue(field.value);
			if (value !== null) values.push({ step, time: Number.isFinite(time) ? time : 0, ...value });
		}
	}
	return values;
}

/** Summary.Value: a tag, and either simple_value or a tensor. */
function summaryValue(bytes: Uint8Array): ({ readonly tag: string } & SummaryValue) | null {
	let tag = '';
	let plugin = '';
	let simple: number | undefined;
	let tensor: number | null | string | undefined;
	for (const field of fieldsOf(bytes)) {
		if (field.number === 1 && field.kind === 'bytes') tag = decoder.decode(field.value);
		else if (field.number === 2 && field.kind === 'fixed32') simple = float32(field.value);
		else if (field.number === 8 && field.kind === 'bytes') tensor = tensorOf(field.value);
		else if (field.number === 9 && field.kind === 'bytes') plugin = pluginOf(field.value);
	}
	if (simple !== undefined) return { tag, value: Number.isFinite(simple) ? simple : null };
	if (typeof tensor === 'string') return plugin === 'text' || plugin === '' ? { tag, text: tensor } : null;
	if (tensor !== undefined && (plugin === 'scalars' || plugin === '')) return { tag, value: tensor };
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
