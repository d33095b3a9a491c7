import { datasetPresets } from '../../src/core/dataset/presets.ts';

/** The text of the trainer's presets.json. */
export function presetsText(): string {
	return `${JSON.stringify(datasetPresets, null, '\t')}\n`;
}
