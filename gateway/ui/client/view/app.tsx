import type { Dashboard } from '../dashboard.ts';
import { AccessGate } from './access.tsx';
import { Banners } from './banners.tsx';
import { Compare } from './compare/section.tsx';
import { DashboardContext, useDashboard } from './context.ts';
import { Curves } from './curves.tsx';
import { Feed } from './feed.tsx';
import { JobsSection } from './jobs/section.tsx';
import { QuestionDialog } from './parts/dialog.tsx';
import { NoticeList } from './parts/notices.tsx';
import { StatechartsSection } from './statecharts/section.tsx';
import { Stats } from './stats.tsx';
import { TopBar } from './top-bar.tsx';
import { Workers } from './workers.tsx';

export function App({ dashboard, serviceName }: { dashboard: Dashboard; serviceName: string }) {
  return (
    <DashboardContext.Provider value={dashboard}>
      <TopBar serviceName={serviceName} />
      <main>
        <h1 class="off-screen">{serviceName}</h1>
        <Banners />
        {dashboard.readable.value ? <View /> : <AccessGate />}
      </main>
      <QuestionDialog />
      <NoticeList />
    </DashboardContext.Provider>
  );
}

/** The style sheet shows the part that `data-view` names, and of the overview what there is room for. */
function View() {
  const { address, freshness } = useDashboard();
  const { view } = address.place.value;
  return (
    <div class={freshness.stale.value ? 'overview stale' : 'overview'} data-view={view || 'jobs'}>
      {view === 'statecharts' ? <StatechartsSection /> : view === 'compare' ? <Compare /> : <Overview />}
    </div>
  );
}

function Overview() {
  return (
    <>
      <div class="summary">
        <Stats />
        <Curves />
      </div>
      <div class="columns">
        <JobsSection />
        <div class="beside">
          <Workers />
          <Feed />
        </div>
      </div>
    </>
  );
}
