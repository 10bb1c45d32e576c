# frozen_string_literal: true

# What README.md tells a newcomer to type, typed as it stands: skep is built and installed as a gem
# into a home of its own, where it needs no other; the programs are written into an empty directory
# and run there, by hand and on a broker of their own. So the page can't rot.
require_relative "scenario"
require_relative "support/page"
require_relative "support/typist"
require "fileutils"

ROOT = File.expand_path("../..", __dir__)
INSTALLS = /\Agem /

OURS = %w[.git .bundle Gemfile.lock tmp vendor].freeze

# As a clone would have it, with what isn't committed yet.
def checkout(folder)
  Dir.mkdir(folder)
  FileUtils.cp_r((Dir.children(ROOT) - OURS).map { |name| "#{ROOT}/#{name}" }, folder)
  FileUtils.rm(Dir["#{folder}/lib/skep/*.so"])
  folder
end

# Nothing of Bundler's; gems: where others' may be found.
def environment(home, gems: nil)
  { "PATH" => "#{home}/gems/bin:#{RbConfig::CONFIG["bindir"]}:#{ENV.fetch("PATH")}",
    "HOME" => home, "LANG" => "C.UTF-8", "MAKEFLAGS" => "-j2",
    "SKEP_RUN_DIR" => "#{home}/run",
    "GEM_HOME" => "#{home}/gems", "GEM_PATH" => ["#{home}/gems", *gems].join(":") }
end

def ready(typist) = typist.type("skep status").scan(/^ +\d+ +(\d+) +\d+ +ready /).flatten

Scenario.play do
  page = Page.new("#{ROOT}/README.md")
  installs, commands = page.commands.partition { |command| command.match?(INSTALLS) }
  needs_kafka = installs.grep(/karafka-rdkafka/)
  others = Gem.path.select { |path| Dir["#{path}/gems/karafka-rdkafka-*"].any? }
  tell = "README.md tells another story now: #{page.commands}"

  # From the checkout to the command.
  builder = Typist.new(checkout("#{directory}/skep"), environment(directory))
  (installs - needs_kafka).each { |command| builder.type(command) }
  must("say what it is") { builder.type("skep --version").match?(/\Askep \d.* native\)/) }
  must("help") { builder.type("skep --help").include?("skep help COMMAND") }
  must("need no other gem") { Dir.children("#{directory}/gems/gems").grep_v(/\Askep-/).empty? }

  # A directory with the page's programs in it.
  Dir.mkdir(empty = "#{directory}/mine")
  page.programs.each { |name, source| File.write("#{empty}/#{name}", source) }
  typist = Typist.new(empty, environment(directory))
  at_end { typist.close }

  run, *steers, kafka = commands
  must("run hello.rb: #{tell}") { run == "skep run hello.rb" }
  hello = typist.start(run)
  hello.await(/^node [01] works, process \d+$/, times: 2)
  hello.await(/ node_ready /, times: 2)
  must("check it") { typist.type("skep check hello.rb").include?("good to run") }
  first = ready(typist)
  must("have two nodes") { first.size == 2 }
  kill = Skep.pidfd(Integer(first.first))
  kill.signal(:KILL)
  kill.close
  hello.await(/ node_ready /, times: 3)
  shown = steers.to_h { |command| [command[/\Askep (\w+)/, 1], typist.type(command)] }
  must("steer it: #{tell}") { shown.keys == %w[status restart scale stop] }
  must("show how a node ended") { shown["status"].include?("SIGKILL") }
  must("stop with 0") { hello.ended.exitstatus == 0 }
  must("have scaled to three, not:\n#{hello.said}") { hello.said.match?(/ swarm_scaled .* to=3$/) }

  page.snippets.each { |source| File.write("#{empty}/parts.rb", source) }
  must("run its parts") { typist.type("ruby parts.rb").include?("a child: connect again") }

  missing "for its second half: #{needs_kafka}" if others.empty?

  # `gem install karafka-rdkafka`, without a network.
  consumer = Typist.new(empty, environment(directory, gems: others))
  at_end { consumer.close }
  must("consume Kafka: #{tell}") { kafka.to_s.match?(/skep kafka broker .* skep run orders\.rb\z/) }
  orders = consumer.start(kafka)
  orders.await(/^node \d bills 12\.5$/)
  must("end well at Ctrl-C, not:\n#{orders.said}") { orders.interrupt.exitstatus == 0 }
end
