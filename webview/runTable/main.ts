import './runTable.css';
import { runTableEventSchema, runTableRequests } from '../../src/protocol/runTableMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { RunTableModel } from './runTableModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: runTableEventSchema, requests: runTableRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new RunTableModel(bridge.restoreState());
	new App(root, model, {
		open: (folder) => bridge.post({ type: 'open', folder }),
		compare: (folders) => bridge.post({ type: 'compare', folders }),
	});
	return { model, saved: () => model.state, saves: () => 'soon' };
});
