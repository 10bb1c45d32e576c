# frozen_string_literal: true

# Two works that do jobs are scaled and restarted by their names while jobs come in: only nodes of
# that work change, and each job is done once. A spare takes over a node of either work. A reload
# finds each work by its name, although they have changed places in the file.
require_relative "scenario"

# A job is a file, which one node takes by a rename.
JOBS = <<~'RUBY'
  def work_off(node, name)
    place = "#{__dir__}/#{name}"
    node.event(:began, names: [name, node.work_name])
    node.ready!
    until node.stopping?
      job = Dir.children(place).grep(/\A\d+\z/).first or (node.wait(0.05); next)
      begin
        File.rename("#{place}/#{job}", "#{place}/taken.#{job}")
      rescue Errno::ENOENT # another node was first
        next
      end
      node.wait(0.02)
      File.write("#{__dir__}/done", "#{name} #{job}\n", mode: "a")
    end
  end

RUBY
WORKS = ['swarm.work("orders", nodes: 2) { |node| work_off(node, "orders") }',
         'swarm.work("mail") { |node| work_off(node, "mail") }'].freeze
NAMES = %w[orders mail].freeze

def source(works)
  "#{JOBS}Skep.swarm \"shop\", nodes: 2, spares: 1, max_restarts: 1000 do |swarm|\n" \
    "#{works.join("\n")}\nend\n"
end

def nodes(swarm, work)
  swarm.status("shop")["nodes"].select { |node| node["work_name"] == work }
end

def pids(swarm, work) = nodes(swarm, work).map { |node| node["pid"] }

# Waits until there are so many ready nodes of each work, and no others.
def settled(swarm, *sizes)
  swarm.follow("there are #{sizes} ready nodes") do
    states = NAMES.map { |work| nodes(swarm, work).map { |node| node["state"] } }
    states == sizes.map { |size| ["ready"] * size }
  end
end

# Writes jobs for both works until the block returns. Returns all of them.
def under_load(directory)
  jobs = 0
  reader, writer = IO.pipe
  thread = Thread.new do
    until reader.wait_readable(0.02)
      jobs += 1
      NAMES.each { |work| File.write("#{directory}/#{work}/#{jobs}", "") }
    end
  end
  yield
  writer.close
  thread.join
  NAMES.flat_map { |work| (1..jobs).map { |job| "#{work} #{job}" } }
ensure
  [reader, writer].each(&:close)
end

Scenario.play do
  prepare = ->(directory) { NAMES.each { |work| Dir.mkdir("#{directory}/#{work}") } }
  swarm = run_swarm(source(WORKS), prepare:)
  swarm.await("node_ready", times: 4)
  swarm.await("spare_ready")
  title = command_line(pids(swarm, "orders").first)
  must("name the work in the title: #{title}") { title.start_with?("skep shop orders node 0 ") }
  table = swarm.output_of("status", "shop").lines.grep(/^\d/).map { |line| line.split[1] }
  must("name the work of each node in the table: #{table}") do
    table == %w[orders orders mail mail]
  end

  jobs = under_load(swarm.directory) do
    mail = pids(swarm, "mail")
    output = swarm.output_of("scale", "orders=4")
    must("scale the work that is named: #{output}") do
      output == "scaled from 2 to 4 nodes of orders\n"
    end
    settled(swarm, 4, 2)
    output = swarm.output_of("scale", "shop", "orders=1", "mail=3")
    must("scale both: #{output}") do
      output == "scaled from 4 to 1 node of orders\nscaled from 2 to 3 nodes of mail\n"
    end
    settled(swarm, 1, 3)
    must("keep the nodes that there were") { (mail - pids(swarm, "mail")).empty? }
    must("scale works without a number of their own") { swarm.skep("scale", "2").nil? }
    settled(swarm, 1, 2)

    orders, mail = NAMES.map { |work| pids(swarm, work) }
    must("restart the work that is named") { swarm.skep("restart", "--work", "mail").nil? }
    must("replace its nodes") { (mail & pids(swarm, "mail")).empty? }
    must("keep those of the other") { pids(swarm, "orders") == orders }
    started = swarm.await("restart_started")
    must("log which one is restarted: #{started}") { started["work"] == "mail" }

    swarm.kill(orders.first)
    stepped = swarm.await("spare_stepped_in")
    must("let a spare take over: #{stepped}") { stepped["work"] == "orders" }
    began = swarm.await("began") { |event| event["pid"] == stepped["pid"] }
    must("give it its work: #{began}") { began["names"] == %w[orders orders] }

    File.write("#{swarm.directory}/swarm.rb", source(WORKS.reverse))
    must("reload works in another order") { swarm.skep("reload", "shop").nil? }
  end

  { "scale" => "oders=3", "restart" => "--work=oders" }.each do |command, work|
    why = swarm.skep(command, work)
    must("refuse to #{command} a work that isn't there: #{why}") do
      why == "skep: there is no work \"oders\", but orders, mail\n"
    end
  end
  done = -> { File.readlines("#{swarm.directory}/done", chomp: true) }
  swarm.follow(-> { "all jobs are done, not #{jobs - done.call}" }) { (jobs - done.call).size <= 1 }
  must("do no job twice") { done.call.uniq.size == done.call.size }
  began = swarm.events.select { |event| event["event"] == "began" }
  must("let each node do its own work: #{began}") do
    began.all? { |event| event["names"] == [event["work"]] * 2 }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
