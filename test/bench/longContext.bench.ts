import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';
import type { LongUpdate } from './longUpdate.ts';
import type { Bench, Measurement } from './measurement.ts';

const shapeOf = (layers: number, width: number, heads: number, context: number): ModelShape => ({
	...{ vocabulary: 128, context, layers, width, heads, feedForward: 4 * width },
});

const shapes: Readonly<Record<string, ModelShape>> = {
	'8 layers of width 256': shapeOf(8, 256, 8, 2048),
	'12 layers of width 768': shapeOf(12, 768, 12, 2048),
};
const tinyShapes = { '2 layers of width 16': shapeOf(2, 16, 2, 64) };

/** Performs one update in a separate process, whose peak memory is measured. */
function measured(shape: ModelShape): Promise<LongUpdate> {
	const script = fileURLToPath(new URL('longUpdate.ts', import.meta.url));
	const child = fork(script, [JSON.stringify(shape)], { stdio: 'inherit' });
	return new Promise((resolve, reject) => {
		child.once('message', (result) => resolve(result as LongUpdate));
		child.once('error', reject);
		child.once('exit', (code) => reject(new Error(`The update ended with exit status ${code}.`)));
	});
}

export const bench: Bench = {
	title: 'one SFT update of the embedded engine on one full-length row, on the CPU with one thread',
	async run({ rounds, tiny }): Promise<Measurement[]> {
		const all: Measurement[] = [];
		for (const [name, shape] of Object.entries(tiny ? tinyShapes : shapes)) {
			const results: LongUpdate[] = [];
			for (let round = 0; round < (tiny ? 1 : rounds); round++) results.push(await measured(shape));
			const of = (key: keyof LongUpdate) => results.map((result) => result[key]);
			all.push(
				{ name: `${name}, ${shape.context} tokens/update`, unit: 's', samples: of('seconds') },
				{ name: `${name}, ${shape.context} tokens/memory before`, unit: 'MB', samples: of('before') },
				{ name: `${name}, ${shape.context} tokens/peak memory`, unit: 'MB', samples: of('peak') },
			);
		}
		return all;
	},
};
