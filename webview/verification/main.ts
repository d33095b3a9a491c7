import './verification.css';
import { resultEventSchema, resultRequests } from '../../src/protocol/verificationMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { ResultsModel } from './resultsModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: resultEventSchema, requests: resultRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new ResultsModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved() };
});
