import './query.css';
import { queryEventSchema, queryRequests } from '../../src/protocol/queryMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { QueryModel } from './queryModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: queryEventSchema, requests: queryRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new QueryModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved, saves: (change) => (change === 'question' ? 'now' : 'never') };
});
