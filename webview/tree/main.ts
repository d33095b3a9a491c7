import './tree.css';
import { treeViewEventSchema } from '../../src/protocol/treeMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { savedStateSchema } from './savedState.ts';
import { type Change, TreeModel } from './treeModel.ts';

startApp({ events: treeViewEventSchema, requests: {}, state: savedStateSchema }, (bridge, root) => {
	const model = new TreeModel((command) => bridge.post(command), bridge.restoreState());
	new App(root, model);
	return {
		model,
		saved: () => model.saved(),
		// Events arrive in bursts and do not change saved state.
		saves: (changes: ReadonlySet<Change>) =>
			changes.size === 1 && (changes.has('events') || changes.has('moment')) ? 'never' : 'now',
	};
});
