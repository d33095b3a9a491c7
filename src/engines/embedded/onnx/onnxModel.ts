import { ProtoWriter } from './protobuf.ts';

/** 16-bit floating-point types, which the host cannot read or write. */
export type HalfType = 'float16' | 'bfloat16';
export type ElementType = 'float32' | 'float64' | 'int32' | 'int64' | 'bool' | HalfType;

/** TensorProto.DataType values from onnx.proto. */
export const elementTypeCodes: Readonly<Record<ElementType, number>> = {
	float32: 1,
	int32: 6,
	int64: 7,
	bool: 9,
	float16: 10,
	float64: 11,
	bfloat16: 16,
};

export function isHalf(type: ElementType): type is HalfType {
	return type === 'float16' || type === 'bfloat16';
}

/** A known size, or the name of a size that is only known at run time. */
export type Dim = number | string;
export type Shape = readonly Dim[];
export type Attribute =
	| number
	| { readonly float: number }
	| { readonly floats: readonly number[] }
	| { readonly graph: OnnxModel }
	| readonly number[]
	| string;

export interface OnnxNode {
	readonly op: string;
	readonly domain: string;
	readonly inputs: readonly string[];
	readonly outputs: readonly string[];
	readonly attributes: Readonly<Record<string, Attribute>>;
}

export interface OnnxTensor {
	readonly name: string;
	readonly type: ElementType;
	readonly shape: readonly number[];
	/** Little-endian, in row-major order. */
	readonly data: Uint8Array;
}

export interface OnnxPort {
	readonly name: string;
	readonly type: ElementType;
	readonly shape: Shape;
}

export interface OnnxModel {
	readonly nodes: readonly OnnxNode[];
	readonly inputs: readonly OnnxPort[];
	readonly outputs: readonly OnnxPort[];
	readonly initializers: readonly OnnxTensor[];
	readonly metadata: Readonly<Record<string, string>>;
}

/** Default operator set version used by the builder. */
export const opset = 18;
const irVersion = 9;

function tensor(t: OnnxTensor): ProtoWriter {
	const w = new ProtoWriter();
	for (const d of t.shape) w.integer(1, d);
	return w.integer(2, elementTypeCodes[t.type]).text(8, t.name).bytes(9, t.data);
}

function attribute(name: string, value: Attribute): ProtoWriter {
	const w = new ProtoWriter().text(1, name);
	if (typeof value === 'number') return w.integer(3, value).integer(20, 2);
	if (typeof value === 'string') return w.text(4, value).integer(20, 3);
	if ('float' in value) return w.float(2, value.float).integer(20, 1);
	if ('floats' in value) {
		for (const item of value.floats) w.float(7, item);
		return w.integer(20, 6);
	}
	if ('graph' in value) return w.message(6, graphOf(value.graph)).integer(20, 5);
	for (const item of value) w.integer(8, item);
	return w.integer(20, 7);
}

function node(n: OnnxNode, index: number): ProtoWriter {
	const w = new ProtoWriter();
	for (const name of n.inputs) w.text(1, name);
	for (const name of n.outputs) w.text(2, name);
	w.text(3, `${n.op}_${index}`).text(4, n.op);
	for (const [name, value] of Object.entries(n.attributes)) w.message(5, attribute(name, value));
	return n.domain === '' ? w : w.text(7, n.domain);
}

function port(p: OnnxPort): ProtoWriter {
	const shape = new ProtoWriter();
	for (const d of p.shape) {
		shape.message(1, typeof d === 'number' ? new ProtoWriter().integer(1, d) : new ProtoWriter().text(2, d));
	}
	const type = new ProtoWriter().integer(1, elementTypeCodes[p.type]).message(2, shape);
	return new ProtoWriter().text(1, p.name).message(2, new ProtoWriter().message(1, type));
}

function graphOf(model: Omit<OnnxModel, 'metadata'>): ProtoWriter {
	const graph = new ProtoWriter();
	model.nodes.forEach((n, i) => {
		graph.message(1, node(n, i));
	});
	graph.text(2, 'reasoning-lab');
	for (const t of model.initializers) graph.message(5, tensor(t));
	for (const p of model.inputs) graph.message(11, port(p));
	for (const p of model.outputs) graph.message(12, port(p));
	return graph;
}

/** Encodes an ONNX file (ModelProto from onnx.proto). */
export function encodeOnnxModel(model: OnnxModel): Uint8Array<ArrayBuffer> {
	const file = new ProtoWriter().integer(1, irVersion).text(2, 'reasoning-lab').message(7, graphOf(model));
	const domains = new Set(['', ...model.nodes.map((n) => n.domain)]);
	for (const domain of domains) {
		file.message(8, new ProtoWriter().text(1, domain).integer(2, domain === '' ? opset : 1));
	}
	for (const [key, value] of Object.entries(model.metadata)) {
		file.message(14, new ProtoWriter().text(1, key).text(2, value));
	}
	return file.finish();
}
