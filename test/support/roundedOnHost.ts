import {
	elementTypeCodes,
	type HalfType,
	type OnnxModel,
	type OnnxNode,
} from '../../src/engines/embedded/onnx/onnxModel.ts';

/** Number of significant bits. */
const bits: Readonly<Record<HalfType, number>> = { bfloat16: 8, float16: 11 };

/**
 * Returns the same program with float32 values that have as many significant bits as its 16-bit values, so that the CPU
 * provider, which has no kernels for 16-bit types, computes what a device does. Exponents have the range of float32.
 */
export function roundedOnHost(model: OnnxModel, type: HalfType): OnnxModel {
	const code = elementTypeCodes[type];
	const factor = `${type} factor`;
	const halves = new Set<string>();
	const nodes = model.nodes.flatMap((node): OnnxNode[] => {
		const [input, output] = [node.inputs[0] as string, node.outputs[0] as string];
		const toHalf = node.op === 'Cast' && node.attributes.to === code;
		const fromHalf = node.op === 'Cast' && halves.has(input);
		if (toHalf || node.inputs.some((name) => halves.has(name))) halves.add(output);
		if (fromHalf) halves.delete(output);
		return toHalf || fromHalf ? rounding(input, output, factor) : [node];
	});
	// Rounds to the nearest number with fewer bits (Dekker 1971, section 5.3).
	const data = new Uint8Array(Float32Array.of(2 ** (24 - bits[type]) + 1).buffer);
	return { ...model, nodes, initializers: [...model.initializers, { name: factor, type: 'float32', shape: [], data }] };
}

function rounding(input: string, output: string, factor: string): OnnxNode[] {
	const node = (op: string, inputs: string[], name: string) => ({
		op,
		domain: '',
		inputs,
		outputs: [name],
		attributes: {},
	});
	const [large, rest] = [`${output} large`, `${output} rest`];
	return [node('Mul', [input, factor], large), node('Sub', [large, input], rest), node('Sub', [large, rest], output)];
}
