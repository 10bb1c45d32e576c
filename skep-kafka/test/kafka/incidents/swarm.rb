# frozen_string_literal: true

require "skep/kafka"
require "fiddle"
require "json"

# The swarm of `rake incidents`. The file "plan" beside it has its options, the file "faults" what
# goes wrong: a JSON object of names, each with the node id or pid that is meant, or null for all.
# Each message that is handled is a line of the file "done": its partition, offset, the time, the
# node and its pid.
class Application
  def initialize(directory)
    @directory = directory
    @lock = Mutex.new
    @faults = {}
  end

  def plan = JSON.parse(File.read("#{@directory}/plan"), symbolize_names: true)

  def fault?(name, *whom)
    faults = current_faults
    faults.key?(name) && (faults[name].nil? || whom.include?(faults[name]))
  end

  def boot(node)
    pause while fault?("slow_boot")
    raise "no configuration" if fault?("bad_boot", node.id) # fails at boot

    Thread.new { watch(node) }
  end

  def load
    pause while fault?("slow_load")
    raise "no such table" if fault?("bad_load") # fails to load
  end

  def handle(message, node, batch)
    depend(message)
    meet(message, batch)
    suffer(node)
    done = [message.partition, message.offset, Skep::OS.now.round(3), node.id, Process.pid]
    File.write("#{@directory}/done", "#{done.join(" ")}\n", mode: "a")
  end

  private

  def pause = IO.select(nil, nil, nil, 0.05)

  # Again once the file was replaced.
  def current_faults
    @lock.synchronize do
      version = File.stat("#{@directory}/faults").ino
      unless version == @version
        @faults = JSON.parse(File.read("#{@directory}/faults"))
        @version = version
      end
      @faults
    end
  end

  # What doesn't wait for messages.
  def watch(node)
    until node.stopping?
      pause
      Process.kill(:KILL, Process.pid) if fault?("crash", node.id)
      exit!(7) if fault?("leave", node.id)
    end
  end

  def depend(message)
    raise IOError, "no database" if fault?("away") # the dependency fails
    raise IOError, "half of the database" if fault?("half_away") && message.key.to_i.even?

    pause while fault?("silent") # the dependency is silent
    pause if fault?("slow")
  end

  # Messages that are special.
  def meet(message, batch)
    case message.payload
    when "bad" then raise ArgumentError, "bad order" unless fault?("fixed") # a bad message
    when "poison" then Process.kill(:KILL, Process.pid)
    when "pause" then fault?("fixed") || batch.pause(8) # it comes again then
    when "stall" then stall(message)
    when "clock" then batch.__attempt.clock_ahead = 42.0 # as the delayed jobs of skep-rails do
    else raise ArgumentError, "large order" if message.payload.start_with?("large") # a large one
    end
  end

  def suffer(node)
    raise KeyError, "no rate" if fault?("ill", Process.pid)

    pause while fault?("hang", node.id) # stands still
    hang_in_c if fault?("hang_in_c", Process.pid)
    @held ||= "x" * (45 << 20) if fault?("grow", Process.pid)
    be_sick(node) if fault?("sick", node.id)
  end

  def be_sick(node)
    node.unhealthy!("no disk")
    pause while fault?("sick", node.id)
    node.healthy!
  end

  # Locks a mutex twice, which blocks for ever and keeps the GVL.
  def hang_in_c
    lock = Fiddle::Function.new(Fiddle.dlopen(nil)["pthread_mutex_lock"], [Fiddle::TYPE_VOIDP],
                                Fiddle::TYPE_INT, need_gvl: true)
    mutex = Fiddle::Pointer.malloc(64, Fiddle::RUBY_FREE)
    mutex[0, 64] = "\0" * 64
    2.times { lock.call(mutex) }
  end

  # librdkafka fetches the partition no more, and skep doesn't know of it.
  def stall(message)
    bindings = Skep::Kafka::Librdkafka::Bindings
    unless bindings.respond_to?(:pause_partitions)
      bindings.attach_function(:pause_partitions, :rd_kafka_pause_partitions,
                               %i[pointer pointer], :int)
    end
    consumer = ObjectSpace.each_object(Skep::Kafka::Consumer).find { |one| !one.closed? }
    place = [[message.topic, message.partition]]
    Skep::Kafka::Librdkafka::TopicPartitionList.make(place) do |list|
      bindings.pause_partitions(consumer.handle, list.pointer)
    end
  end
end

Process.setrlimit(:CORE, 0)
application = Application.new(__dir__)
plan = application.plan
options = plan[:source]
options[:on_error] = { ArgumentError => options[:on_error].to_sym } if options[:on_error]
%i[ordered_by on_poison].each { |name| options[name] &&= options[name].to_sym }

Skep.swarm("incidents", nodes: 3, **plan[:swarm]) do |swarm|
  swarm.preload { application.load }
  swarm.on_boot { |node| application.boot(node) }
  swarm.on(:node_ready) { nil } # so there is a helper
  swarm.work(Skep::Kafka::Source.new(**options)) do |batch, node|
    batch.each { |message| application.handle(message, node, batch) }
  end
end
