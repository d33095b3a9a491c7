import { datasetPresets } from '../../src/core/dataset/presets.ts';

/** Returns the contents of the trainer's presets.json. */
export function presetsText(): string {
	return `${JSON.stringify(datasetPresets, null, '\t')}\n`;
}
