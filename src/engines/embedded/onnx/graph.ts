import { cpuDialect, type Dialect, standardDialect } from './dialect.ts';
import { outputsEarly } from './nodeOrder.ts';
import type { OnnxPort, OnnxTensor, Shape } from './onnxModel.ts';
import {
	type Attribute,
	type Dim,
	type ElementType,
	elementTypeCodes,
	encodeOnnxModel,
	isHalf,
	type OnnxModel,
	type OnnxNode,
} from './onnxModel.ts';

/** Computes the gradient of one input from the gradients of all outputs, in order. */
export type Backward = (...gradients: Value[]) => Value;

/** A differentiable step, visited in reverse order during differentiation. */
export interface TapeEntry {
	readonly inputs: readonly Value[];
	readonly outputs: readonly Value[];
	/** One entry per input; null for inputs without a gradient (indexes, shapes). Called only for tracked inputs. */
	readonly backward: readonly (Backward | null)[];
}

/** A tensor in a graph under construction. */
export class Value {
	readonly graph: Graph;
	readonly name: string;
	readonly shape: Shape;
	readonly type: ElementType;
	/** Whether gradients can flow through the tensor. */
	readonly tracked: boolean;

	constructor(graph: Graph, name: string, shape: Shape, type: ElementType, tracked = false) {
		this.graph = graph;
		this.name = name;
		this.shape = shape;
		this.type = type;
		this.tracked = tracked;
	}

	/** Returns the size of an axis. Negative axes count from the end. */
	dim(axis: number): Dim {
		const d = this.shape.at(axis);
		if (d === undefined) throw new RangeError(`${this.name} has no axis ${axis}`);
		return d;
	}

	/** Returns the same tensor, treated as a constant during differentiation. */
	detach(): Value {
		return new Value(this.graph, this.name, this.shape, this.type);
	}
}

export interface NodeOptions {
	readonly attributes?: Readonly<Record<string, Attribute>>;
	/** Element type of the outputs. Default: the type of the first input. */
	readonly type?: ElementType;
	readonly domain?: string;
	readonly backward?: readonly (Backward | null)[];
}

/**
 * An ONNX program under construction. The operators are functions on {@link Value} in neighboring files, each with its
 * gradient. This class only manages nodes, constants and the tape.
 */
export class Graph {
	/** `float64` is used for gradient checks. */
	readonly floatType: 'float32' | 'float64';
	/** Operators that the target supports. */
	readonly dialect: Dialect;
	#tape: TapeEntry[] = [];
	readonly metadata: Record<string, string> = {};
	/** Whether the runtime should compute outputs as early as possible, so that fewer values exist at the same time. */
	outputsEarly = false;
	#recording = true;
	#nodes: OnnxNode[] = [];
	#values: Value[] = [];
	#constants: OnnxTensor[] = [];
	#inputs: OnnxPort[] = [];
	#outputs: OnnxPort[] = [];
	#cache = new Map<string, Value>();
	#next = 0;
	#nextHalf = 0;
	readonly #prefix: string;

	/** @param prefix prefix of generated names, which must be unique across a program and its loop bodies */
	constructor(
		floatType: 'float32' | 'float64' = 'float32',
		dialect: Dialect = floatType === 'float64' ? standardDialect : cpuDialect,
		prefix = '',
	) {
		this.floatType = floatType;
		this.dialect = dialect;
		this.#prefix = prefix;
	}

	/** Differentiable steps so far, in order. */
	get tape(): readonly TapeEntry[] {
		return this.#tape;
	}

	input(name: string, shape: Shape, type: ElementType = this.floatType): Value {
		this.#inputs.push({ name, shape, type });
		return new Value(this, name, shape, type);
	}

	/** Adds an input for which gradients are computed. */
	variable(name: string, shape: readonly number[]): Value {
		this.#inputs.push({ name, shape, type: this.floatType });
		return new Value(this, name, shape, this.floatType, true);
	}

	output(name: string, value: Value): void {
		this.#nodes.push({ op: 'Identity', domain: '', inputs: [value.name], outputs: [name], attributes: {} });
		this.#outputs.push({ name, shape: value.shape, type: value.type });
	}

	/** Adds an output under the value's own name, without a copy. A value can be added only once. */
	outputUnnamed({ name, shape, type }: Value): void {
		this.#outputs.push({ name, shape, type });
	}

	/**
	 * Adds an operator with any number of outputs.
	 * @param inputs null for an optional input that is omitted
	 */
	nodes(op: string, inputs: readonly (Value | null)[], shapes: readonly Shape[], options: NodeOptions = {}): Value[] {
		const type = options.type ?? inputs[0]?.type ?? this.floatType;
		const given = inputs.filter((v) => v !== null);
		const tracked = this.#recording && options.backward !== undefined && given.some((v) => v.tracked);
		// 16-bit values are numbered separately, so that programs that differ only in them use the same names for all
		// others.
		const number = () => (isHalf(type) ? `h${this.#nextHalf++}` : `t${this.#next++}`);
		const outputs = shapes.map((shape) => new Value(this, `${this.#prefix}${number()}`, shape, type, tracked));
		this.#values.push(...outputs);
		this.#nodes.push({
			op,
			domain: options.domain ?? '',
			inputs: inputs.map((v) => v?.name ?? ''),
			outputs: outputs.map((v) => v.name),
			attributes: options.attributes ?? {},
		});
		if (tracked && options.backward) this.#tape.push({ inputs: given, outputs, backward: options.backward });
		return outputs;
	}

	/** Adds an operator with one output. */
	node(op: string, inputs: readonly (Value | null)[], shape: Shape, options: NodeOptions = {}): Value {
		return this.nodes(op, inputs, [shape], options)[0] as Value;
	}

	/** Groups nodes into one step with a custom gradient that replaces their own gradients. */
	composite(inputs: readonly Value[], forward: () => Value, backward: readonly (Backward | null)[]): Value {
		return this.composites(inputs, () => [forward()], backward)[0] as Value;
	}

	/** Like `composite`, for several outputs. */
	composites(
		inputs: readonly Value[],
		forward: () => readonly Value[],
		backward: readonly (Backward | null)[],
	): readonly Value[] {
		const inner = this.untracked(forward);
		if (!this.#recording || !inputs.some((v) => v.tracked)) return inner;
		const outputs = inner.map(({ name, shape, type }) => new Value(this, name, shape, type, true));
		this.#tape.push({ inputs, outputs, backward });
		return outputs;
	}

	/** Runs `build` without recording, so its nodes cannot be differentiated. */
	untracked<T>(build: () => T): T {
		const before = this.#recording;
		this.#recording = false;
		try {
			return build();
		} finally {
			this.#recording = before;
		}
	}

	/** Records the steps of `build` on a separate tape, so that only the caller can differentiate them. */
	taped<T>(build: () => T): { readonly result: T; readonly tape: readonly TapeEntry[] } {
		const [recording, tape] = [this.#recording, this.#tape];
		this.#recording = true;
		this.#tape = [];
		try {
			return { result: build(), tape: this.#tape };
		} finally {
			this.#recording = recording;
			this.#tape = tape;
		}
	}

	constant(type: ElementType, shape: readonly number[], values: ArrayLike<number>, name?: string): Value {
		if (isHalf(type)) throw new TypeError(`A constant cannot be a ${type}`);
		const data = { float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array } as const;
		const array = type === 'int64' ? BigInt64Array.from(Array.from(values, (x) => BigInt(x))) : data[type].from(values);
		return this.initializer(name ?? `${this.#prefix}c${this.#next++}`, type, shape, array);
	}

	/** Adds a constant in binary form without copying the array. */
	initializer(name: string, type: ElementType, shape: readonly number[], data: ArrayBufferView): Value {
		const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
		this.#constants.push({ name, type, shape, data: bytes });
		return new Value(this, name, shape, type);
	}

	/** Adds a scalar with the graph's float type. */
	scalar(x: number): Value {
		return this.#cached(`scalar ${x}`, () => this.constant(this.floatType, [], [x]));
	}

	/** Adds a vector of 64-bit integers, for shapes and axes. */
	integers(xs: readonly number[]): Value {
		return this.#cached(`integers ${xs.join(' ')}`, () => this.constant('int64', [xs.length], xs));
	}

	/** Returns a value converted to another type, without a gradient. Converts each value only once. */
	converted(x: Value, type: ElementType): Value {
		const convert = () => this.node('Cast', [x], x.shape, { attributes: { to: elementTypeCodes[type] }, type });
		return this.#cached(`${type} ${x.name}`, convert);
	}

	#cached(key: string, make: () => Value): Value {
		let value = this.#cache.get(key);
		if (value === undefined) {
			value = make();
			this.#cache.set(key, value);
		}
		return value;
	}

	/** Returns the program without unused nodes and constants. Keeps all inputs. */
	model(): OnnxModel {
		const needed = new Set(this.#outputs.map((o) => o.name));
		const nodes: OnnxNode[] = [];
		for (const node of this.#nodes.toReversed()) {
			if (!node.outputs.some((name) => needed.has(name))) continue;
			nodes.push(node);
			for (const name of namesReadBy(node)) needed.add(name);
		}
		nodes.reverse();
		const names = this.#outputs.map(({ name }) => name);
		return {
			nodes: this.outputsEarly ? outputsEarly(nodes, names) : nodes,
			inputs: this.#inputs,
			outputs: this.#outputs,
			initializers: this.#constants.filter((c) => needed.has(c.name)),
			metadata: this.metadata,
		};
	}

	/**
	 * Returns the program with an additional output for every intermediate value that the host can read, for comparing
	 * execution providers.
	 */
	observed(): OnnxModel {
		const model = this.model();
		const made = new Set(model.nodes.flatMap(({ outputs }) => outputs));
		const intermediates = this.#values
			.filter(({ name, type }) => made.has(name) && !isHalf(type))
			.map(({ name, shape, type }): OnnxPort => ({ name, shape, type }));
		return { ...model, outputs: [...model.outputs, ...intermediates] };
	}

	encode(): Uint8Array<ArrayBuffer> {
		return encodeOnnxModel(this.model());
	}
}

/** Returns the names of a node's inputs, including those that only the body of a loop reads. */
function namesReadBy(node: OnnxNode): string[] {
	return [...node.inputs, ...bodiesOf(node).flatMap(({ nodes }) => nodes.flatMap(namesReadBy))];
}

/** Returns the programs inside a node, such as the body of a loop. */
export function bodiesOf({ attributes }: OnnxNode): OnnxModel[] {
	return Object.values(attributes).flatMap((value) =>
		typeof value === 'object' && 'graph' in value ? [value.graph] : [],
	);
}
