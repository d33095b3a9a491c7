import './comparison.css';
import { comparisonEventSchema, comparisonRequests } from '../../src/protocol/runComparisonMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { ComparisonModel } from './comparisonModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: comparisonEventSchema, requests: comparisonRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new ComparisonModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved() };
});
