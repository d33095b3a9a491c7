import type { LazyPanels } from '../../lazyPanels.ts';
import type { LazyPolicies } from '../../policies/lazyPolicies.ts';
import type { RunPicker } from '../../runPicker.ts';
import type { PlaygroundPlace } from './playgroundPanel.ts';

export interface PlaygroundCommandNeeds {
	readonly playgrounds: LazyPanels<never, PlaygroundPlace>;
	readonly picker: RunPicker;
	readonly policies: LazyPolicies;
}
