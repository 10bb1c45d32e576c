# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/web"

# Jobs with the letters of a topic, on their own thread.
class WebDeadLettersJobTest < KafkaCase
  DeadLetters = Skep::Web::DeadLetters

  def teardown
    @worker&.close
    super
  end

  test "a job's result is kept with its time" do
    broker(dead: 1)
    job = push { |letters| letters.groups }
    await { !job.running? }
    assert_equal [[], nil], [job.result, job.failure]
    assert_operator job.ago, :<, job.seconds
  end

  test "a topic that isn't there, and one that is refused, become a sentence" do
    broker(dead: 1)
    job = push("nosuch") { flunk }
    await { !job.running? }
    assert_match(/has no topic nosuch\. Check the topic's name/, job.failure)
    @worker.close
    @broker.refuse("dead")
    job = push { flunk }
    await { !job.running? }
    assert_match(/\A\S+ refuses topic dead \(.*\)\. Grant this user/, job.failure)
  end

  test "brokers that don't answer become a sentence without a secret, and the next job runs" do
    broker(dead: 1)
    config = { "bootstrap.servers" => "127.0.0.1:1", "sasl.password" => "hunter2" }
    job = push(config:) { flunk }
    await { !job.running? }
    sentence = /\ANo broker of 127\.0\.0\.1:1 answered within 0\.3 s .*host name\.\z/
    assert_match(sentence, job.failure)
    refute_match(/hunter2/, "#{job.failure} #{@worker.inspect}")
    again = DeadLetters::Job.new { nil }
    @worker.push(again)
    await { !again.running? }
    assert_match(/No broker/, again.failure)
  end

  test "an error of our own is reported, and the thread continues" do
    broker(dead: 1)
    job = nil
    _, err = capture_io do
      job = push { raise TypeError, "oops" }
      await { !job.running? }
      again = DeadLetters::Job.new { 7 }
      @worker.push(again)
      await { !again.running? }
      assert_equal 7, again.result
    end
    assert_match(/an error of the page \(TypeError\)/, job.failure)
    assert_match(/skep\.dead_letters raised TypeError: oops/, err)
  end

  test "close interrupts a job that waits, and those behind it don't begin" do
    broker(dead: 1)
    inside = Queue.new
    job = push { inside.push(true) && Queue.new.pop }
    behind = DeadLetters::Job.new { flunk }
    @worker.push(behind)
    inside.pop
    assert_takes(0, most: 5) { @worker.close }
    late = DeadLetters::Job.new { flunk }
    @worker.push(late)
    [job, behind, late].each { |one| assert_match(/closed before it was done/, one.failure) }
  end

  test "close ends the wait for brokers that don't answer" do
    broker(dead: 1)
    job = push(config: { "bootstrap.servers" => "127.0.0.1:1" }, seconds: 60) { flunk }
    await { Thread.list.any? { |thread| thread.name == "skep.dead_letters" && thread.stop? } }
    @worker.close
    assert_match(/closed before/, job.failure)
  end

  # The parent has no client at the fork: librdkafka's threads may hold locks, which stay locked.
  test "in a forked child a job of the parent is lost, and another one runs" do
    broker(dead: 1)
    ended = push { |letters| letters.groups }
    await { !ended.running? }
    job = DeadLetters::Job.new { flunk }
    pid, reader = in_child do |writer|
      own = DeadLetters::Job.new { |letters| letters.groups }
      @worker.push(own)
      await { !own.running? }
      writer.puts([job.lost?, job.running?, ended.lost?, own.result].inspect)
      @worker.close
    end
    assert_equal "[true, false, false, []]\n", wait_readable(reader).gets
    Process.wait(pid)
    assert_equal [false, true], [job.lost?, job.running?]
  end

  private

  def push(topic = "dead", config: @broker.settings, seconds: nil, &work)
    config = Skep::Kafka::Config::ClientConfig.new(config)
    seconds ||= config.brokers.end_with?(":1") ? 0.3 : SECONDS
    @worker = DeadLetters::Worker.new(topic, config, seconds:)
    DeadLetters::Job.new(&work).tap { |job| @worker.push(job) }
  end

  def await
    by = deadline(Patience.of(20))
    until yield
      flunk "it takes too long" if seconds_until(by).zero?
      IO.select(nil, nil, nil, 0.01)
    end
  end
end
