import type { OnnxModel, OnnxNode } from '../../src/engines/embedded/onnx/onnxModel.ts';

/**
 * Returns the same program without fused activations that the CPU provider lacks: a fused convolution becomes a
 * convolution followed by QuickGelu. Other values keep their names.
 */
export function unfusedOnHost(model: OnnxModel): OnnxModel {
	const nodes = model.nodes.flatMap((node): OnnxNode[] => {
		const { activation, activation_params: parameters, ...rest } = node.attributes;
		if (node.op !== 'FusedConv' || activation !== 'QuickGelu') return [node];
		if (typeof parameters !== 'object' || !('floats' in parameters)) throw new TypeError('QuickGelu has one parameter');
		const sum = `${node.outputs[0]} before activation`;
		return [
			{ ...node, op: 'Conv', domain: '', outputs: [sum], attributes: rest },
			{ ...node, op: 'QuickGelu', inputs: [sum], attributes: { alpha: { float: parameters.floats[0] as number } } },
		];
	});
	return { ...model, nodes };
}
