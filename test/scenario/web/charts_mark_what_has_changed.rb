# frozen_string_literal: true

# The charts of a page have a line with a label where a restart, a reload and another revision
# began, live and from the past, also after more events than the page keeps. Where nothing was known
# for a while, as with a stopped supervisor, they have a band.
require_relative "scenario"

SWARM = <<~RUBY
  Skep.swarm "hive", nodes: 2 do |swarm|
    swarm.work do |node|
      node.ready!
      400.times { |number| node.event(:noise, number:) } if File.exist?("\#{__dir__}/noise")
      until node.stopping?
        node.processed(3)
        node.wait(0.5)
      end
    end
  end
RUBY
LABEL = "document.querySelector('.plot .chart').getAttribute('aria-label')"
LINES = "document.querySelector('.plot .mark').getAttribute('d').match(/M/g)?.length"
SHOWN = "[...document.querySelectorAll('.plot .labels')].map((labels) => labels.textContent)"

WebScenario.play do
  swarm = run_swarm(SWARM, prepare: lambda { |directory|
    File.write("#{directory}/REVISION", "aaaaaaaaaaaa")
  })
  swarm.await("node_ready", times: 2)
  url = serve(swarm)
  browse do |browser|
    page = browser.page
    page.visit(url)
    page.await("#{LABEL}.includes('start ')")
    swarm.output_of("restart", "hive")
    swarm.await("restart_finished")
    page.await("#{LABEL}.includes('restart ')")

    # The events before these aren't on the page any more.
    File.write("#{swarm.directory}/noise", "")
    File.write("#{swarm.directory}/REVISION", "bbbbbbbbbbbb")
    swarm.output_of("reload", "hive")
    swarm.await("reload_finished")
    page.await("#{LABEL}.includes('reload') && #{LABEL}.includes('revision bbbbbbb')")
    shown = page.evaluate(SHOWN)
    must("name the newest one in each chart: #{shown}") do
      shown.reject(&:empty?).all? { |labels| labels.match?(/reload|revision bbbbbbb/) } &&
        shown.count { |labels| !labels.empty? } >= 2
    end
    drawn = page.evaluate(LINES)
    must("draw a line for each, not #{drawn}") { (2..5).cover?(drawn) }

    # A page that is opened later has the same marks.
    later = browser.page
    later.visit(url)
    words = ["restart ", "reload", "revision bbbbbbb"]
    later.await(words.map { |word| "#{LABEL}.includes(#{word.to_json})" }.join(" && "))

    swarm.signal(:STOP)
    swarm.follow_for(60)
    swarm.signal(:CONT)
    page.await("#{LABEL}.includes('1 gap where nothing is known')")
    band = page.evaluate("document.querySelector('.plot .gap').getAttribute('d')")
    must("have a band for the gap, not #{band}") { band.match?(/\AM[\d.]+,0H[\d.]+V56H[\d.]+Z\z/) }
    must("load without an error: #{page.errors}") { page.errors.empty? }
  end
  stop_web
end
