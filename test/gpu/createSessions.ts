/**
 * Creates a session of every program on the WebGPU provider with the runtime's log on stderr, after a line with the name
 * of the program; then prints which of its nodes have int64 results, as JSON. Runs in a separate process, because the
 * log level applies to the whole process and the log cannot be redirected.
 */
import { writeSync } from 'node:fs';
import { Random } from '../../src/base/random.ts';
import { dialects } from '../../src/engines/embedded/compute/providers.ts';
import { executionProvider, prepareEnvironment, runtime, Tensors } from '../../src/engines/embedded/compute/runtime.ts';
import { cpuDialect } from '../../src/engines/embedded/onnx/dialect.ts';
import { multiply } from '../../src/engines/embedded/onnx/elementwise.ts';
import { Graph } from '../../src/engines/embedded/onnx/graph.ts';
import { logSoftmax } from '../../src/engines/embedded/onnx/softmax.ts';
import { programCases } from './programs.ts';

prepareEnvironment();
const ort = await runtime();
ort.env.logLevel = 'verbose';
const shape = { vocabulary: 11, context: 16, width: 16, heads: 2, layers: 2, feedForward: 24 };
const cases = programCases(shape, Random.of('placement'), { tensors: await Tensors.load(), dialect: dialects.webgpu });
const kernel = new Graph('float32', cpuDialect);
// Placed next to another operator, because the log lists no nodes for a program that is entirely on one provider.
kernel.output('y', logSoftmax(multiply(kernel.input('x', [2, 3]), 2)));

const integers: Record<string, string[]> = {};
for (const { name, graph } of [...cases, { name: 'LogSoftmax', graph: kernel }]) {
	writeSync(2, `program: ${name}\n`);
	const session = await ort.InferenceSession.create(graph.encode(), {
		executionProviders: [executionProvider('webgpu')],
		logSeverityLevel: 0,
	});
	await session.release();
	const types = new Map(graph.observed().outputs.map((port) => [port.name, port.type]));
	integers[name] = graph
		.model()
		.nodes.flatMap(({ op, outputs }, i) =>
			outputs.every((output) => types.get(output) === 'int64') ? [`${op}_${i}`] : [],
		);
}
console.log(JSON.stringify(integers));
