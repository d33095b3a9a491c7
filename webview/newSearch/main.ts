import './newSearch.css';
import { newSearchEventSchema, newSearchRequests } from '../../src/protocol/newSearchMessages.ts';
import { startApp } from '../lib/startApp.ts';
import { App } from './app.ts';
import { NewSearchModel } from './newSearchModel.ts';
import { savedStateSchema } from './savedState.ts';

startApp({ events: newSearchEventSchema, requests: newSearchRequests, state: savedStateSchema }, (bridge, root) => {
	const model = new NewSearchModel(bridge, bridge.restoreState());
	new App(root, model);
	return { model, saved: () => model.saved(), saves: () => 'soon' };
});
